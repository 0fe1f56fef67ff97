//! `witlet get`: asks the daemon over its socket, and prints the answer.

pub(crate) mod error;
mod node;
pub(crate) mod table;
mod usage;

use jiff::Timestamp;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use witlet_ports::Clock;
use witlet_server::LocalClient;

use crate::cli::{Get, GetArgs, OutputFormat, PodsArgs};
use crate::output::{print, structured};
use error::GetError;

/// Prints what was asked for.
pub(crate) async fn run(get: Get, clock: &dyn Clock) -> Result<(), GetError> {
    match get {
        Get::Pods(PodsArgs { get, usage: true }) => usage::run(&get).await,
        Get::Pods(PodsArgs { get, usage: false }) => pods(&get, clock.now()).await,
        Get::Events(args) => events(&args, clock.now()).await,
        Get::Node(args) => node::run(&args, clock.now()).await,
        Get::Plugins(args) => crate::plugin::list::run(&args).await,
    }
}

async fn pods(args: &GetArgs, now: Timestamp) -> Result<(), GetError> {
    let mut list: List<Pod> = LocalClient::new(&args.api_socket).get("/pods").await?;
    list.items.retain(|pod| {
        let matches =
            |requested: &Option<String>, have: &Option<String>| requested.is_none() || requested == have;
        matches(&args.namespace, &pod.metadata.namespace) && matches(&args.name, &pod.metadata.name)
    });
    if let (Some(name), true) = (&args.name, list.items.is_empty()) {
        let place = args.namespace.as_ref().map(|n| format!(" in namespace {n:?}")).unwrap_or_default();
        return Err(GetError::NotFound { kind: "pod", name: name.clone(), place });
    }
    let text = match (args.output, &args.name, list.items.as_slice()) {
        (OutputFormat::Json | OutputFormat::Yaml, Some(_), [only]) => structured(only, args.output)?,
        (OutputFormat::Json | OutputFormat::Yaml, _, _) => structured(&list, args.output)?,
        (OutputFormat::Table | OutputFormat::Wide, _, []) => "No pods found.\n".to_owned(),
        (OutputFormat::Table | OutputFormat::Wide, _, items) => {
            let wide = args.output == OutputFormat::Wide;
            let rows: Vec<_> = items.iter().map(|pod| table::pod_row(pod, wide, now)).collect();
            table::render(&table::pod_header(wide), &rows)
        }
    };
    Ok(print(&text)?)
}

async fn events(args: &GetArgs, now: Timestamp) -> Result<(), GetError> {
    let mut answer: Value = LocalClient::new(&args.api_socket).get("/events").await?;
    if let Some(items) = answer["items"].as_array_mut() {
        items.retain(|event| {
            let object = &event["involvedObject"];
            let matches = |requested: &Option<String>, key: &str| {
                requested.as_ref().is_none_or(|requested| object[key].as_str() == Some(requested))
            };
            matches(&args.namespace, "namespace") && matches(&args.name, "name")
        });
    }
    let wide = args.output == OutputFormat::Wide;
    let rows = |items: &[Value]| -> Vec<Vec<String>> {
        items.iter().map(|event| event_row(event, wide, now)).collect()
    };
    let text = match (args.output, answer["items"].as_array()) {
        (OutputFormat::Json | OutputFormat::Yaml, _) => structured(&answer, args.output)?,
        (_, Some(items)) if !items.is_empty() => {
            let mut header = vec!["LAST SEEN", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"];
            if wide {
                header.insert(SUBOBJECT_AT, "SUBOBJECT");
            }
            table::render(&header, &rows(items))
        }
        (_, _) => "No events found.\n".to_owned(),
    };
    Ok(print(&text)?)
}

/// Where `-o wide` says which container it is, as kubectl does: before the message.
const SUBOBJECT_AT: usize = 5;

fn event_row(event: &Value, wide: bool, now: Timestamp) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["involvedObject"];
    let kind = text(&object["kind"]).to_lowercase();
    let named = match (object["place"].as_str(), object["name"].as_str()) {
        // Where to look: a file.
        (Some(place), _) => place.to_owned(),
        (None, Some(name)) => format!("{kind}/{name}"),
        // There is one node.
        (None, None) => kind,
    };
    let last = event["lastTimestamp"].as_str().and_then(|at| at.parse().ok());
    let mut row = vec![
        last.map_or_else(|| "<unknown>".into(), |at| table::age(now, at)),
        event["count"].to_string(),
        text(&event["type"]),
        text(&event["reason"]),
        named,
        text(&event["message"]),
    ];
    if wide {
        row.insert(SUBOBJECT_AT, text(&object["fieldPath"]));
    }
    row
}

#[cfg(test)]
mod tests;

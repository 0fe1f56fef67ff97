//! `witlet get events`: what happened, and with `--watch` what happens.

use jiff::Timestamp;
use serde_json::Value;
use witlet_ports::Clock;
use witlet_server::LocalClient;

use super::error::GetError;
use super::table;
use super::watch::{Change, Watched, document, follow};
use crate::cli::{GetArgs, OutputFormat};
use crate::output::{OutputError, print, structured};

/// Columns, but for that of `-o wide`.
const HEADER: [&str; 6] = ["LAST SEEN", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"];

/// Prints those that the agent remembers.
pub(super) async fn run(args: &GetArgs, now: Timestamp) -> Result<(), GetError> {
    let answer = list(args).await?;
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = match args.output {
        OutputFormat::Json | OutputFormat::Yaml => structured(&answer, args.output)?,
        OutputFormat::Table | OutputFormat::Wide if items.is_empty() => "No events found.\n".to_owned(),
        OutputFormat::Table | OutputFormat::Wide => rendered(items, args.output, now),
    };
    Ok(print(&text)?)
}

/// Prints the same, and then each that is recorded.
pub(super) async fn watch(args: &GetArgs, clock: &dyn Clock) -> Result<(), GetError> {
    let answer = list(args).await?;
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (output, now) = (args.output, clock.now());
    let is_table = matches!(output, OutputFormat::Table | OutputFormat::Wide);
    let rows: Vec<Vec<String>> = items.iter().map(|event| event_row(event, is_wide(output), now)).collect();
    let widths = table::widths(&header(output), &rows);
    let mut watched = EventWatch { args, clock, widths, version: version(&answer).unwrap_or_default() };
    if is_table {
        print(&rendered(items, output, now))?;
    } else {
        for event in items {
            print(&document(&Change { kind: "ADDED".to_owned(), object: event.clone() }, output)?)?;
        }
    }
    follow(&args.api_socket, &mut watched).await
}

struct EventWatch<'a> {
    args: &'a GetArgs,
    clock: &'a dyn Clock,
    widths: Vec<usize>,
    /// Of the newest event that was seen. It grows over restarts of the agent.
    version: u64,
}

impl Watched for EventWatch<'_> {
    fn request(&self) -> String {
        format!("/events?watch=true&resourceVersion={}", self.version)
    }

    fn show(&mut self, change: Change) -> Result<Option<String>, OutputError> {
        let Self { args, clock, widths, .. } = self;
        self.version = version(&change.object).unwrap_or(self.version);
        if !is_selected(&change.object, args) {
            return Ok(None);
        }
        match args.output {
            OutputFormat::Json | OutputFormat::Yaml => document(&change, args.output).map(Some),
            OutputFormat::Table | OutputFormat::Wide => {
                let row = event_row(&change.object, is_wide(args.output), clock.now());
                Ok(Some(table::line(&row, widths)))
            }
        }
    }
}

fn version(of: &Value) -> Option<u64> {
    of["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// Returns those that are selected.
async fn list(args: &GetArgs) -> Result<Value, GetError> {
    let mut answer: Value = LocalClient::new(&args.api_socket).get("/events").await?;
    if let Some(items) = answer["items"].as_array_mut() {
        items.retain(|event| is_selected(event, args));
    }
    Ok(answer)
}

fn is_selected(event: &Value, args: &GetArgs) -> bool {
    let object = &event["involvedObject"];
    let matches = |requested: &Option<String>, key: &str| {
        requested.as_ref().is_none_or(|requested| object[key].as_str() == Some(requested))
    };
    matches(&args.namespace, "namespace") && matches(&args.name, "name")
}

fn is_wide(output: OutputFormat) -> bool {
    output == OutputFormat::Wide
}

fn header(output: OutputFormat) -> Vec<&'static str> {
    let mut header = HEADER.to_vec();
    if is_wide(output) {
        header.insert(SUBOBJECT_AT, "SUBOBJECT");
    }
    header
}

fn rendered(items: &[Value], output: OutputFormat, now: Timestamp) -> String {
    let rows: Vec<Vec<String>> = items.iter().map(|event| event_row(event, is_wide(output), now)).collect();
    table::render(&header(output), &rows)
}

/// Where `-o wide` says which container it is, as kubectl does: before the message.
const SUBOBJECT_AT: usize = 5;

pub(crate) fn event_row(event: &Value, wide: bool, now: Timestamp) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["involvedObject"];
    let kind = text(&object["kind"]).to_lowercase();
    let named = match (object["place"].as_str(), object["name"].as_str()) {
        // Where to search: a file.
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

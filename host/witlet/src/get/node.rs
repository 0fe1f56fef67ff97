//! `witlet get node`: how the node is, what there is of it and what is used, and how far away evictions are.

use std::path::Path;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;
use witlet_core::node::conditions;
use witlet_core::pod::quantity;
use witlet_core::text::readable_bytes;
use witlet_server::{ClientError, LocalClient};

use super::error::GetError;
use super::table;
use crate::cli::{GetNodeArgs, OutputFormat};
use crate::output::{print, structured};

/// Prints it.
pub(super) async fn run(args: &GetNodeArgs, now: Timestamp) -> Result<(), GetError> {
    let node: Node = LocalClient::new(&args.api_socket).get("/node").await?;
    if let Some(name) = args.name.as_ref().filter(|name| Some(*name) != node.metadata.name.as_ref()) {
        return Err(GetError::NotFound { kind: "node", name: name.clone(), place: String::new() });
    }
    let text = match args.output {
        OutputFormat::Json | OutputFormat::Yaml => structured(&node, args.output)?,
        OutputFormat::Table | OutputFormat::Wide => {
            let status =
                table::render(&["NAME", "STATUS", "SINCE", "VERSION", "MESSAGE"], &[node_row(&node, now)]);
            let resources = section(&args.api_socket, "/node/resources", &RESOURCES, resource_row).await?;
            let thresholds = section(&args.api_socket, "/thresholds", &THRESHOLDS, threshold_row).await?;
            format!("{status}{resources}{thresholds}")
        }
    };
    Ok(print(&text)?)
}

pub(crate) const RESOURCES: [&str; 8] =
    ["RESOURCE", "CAPACITY", "SYSTEM", "KUBE", "EVICTION", "ALLOCATABLE", "REQUESTED", "USED"];
pub(crate) const THRESHOLDS: [&str; 6] =
    ["EVICTS BELOW", "THRESHOLD", "GRACE", "AVAILABLE", "CAPACITY", "AWAY"];

/// A table below the others; nothing where the agent has no rows, or is of an earlier release.
async fn section(
    socket: &Path,
    request: &str,
    header: &[&str],
    row: fn(&Value) -> Vec<String>,
) -> Result<String, ClientError> {
    let answer: Value = match LocalClient::new(socket).get(request).await {
        Ok(answer) => answer,
        Err(ClientError::Refused { status: 404 | 503, .. }) => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let rows: Vec<Vec<String>> = answer["items"].as_array().into_iter().flatten().map(row).collect();
    Ok(if rows.is_empty() { String::new() } else { format!("\n{}", table::render(header, &rows)) })
}

/// An amount of a resource as people read it: bytes in a unit that fits.
pub(crate) fn amount(resource: &str, text: &str) -> String {
    let in_bytes = matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    let bytes = quantity::parse(text).ok().filter(|_| in_bytes).map(|amount| amount.value());
    bytes.map_or_else(|| text.to_owned(), readable_bytes)
}

/// What is reserved for nothing is empty.
pub(crate) fn resource_row(row: &Value) -> Vec<String> {
    let name = row["resource"].as_str().unwrap_or_default();
    let amount = |key: &str| row[key].as_str().map(|text| amount(name, text));
    let is_none = |key: &str| row[key].as_str().is_none_or(|text| text == "0");
    let reserved = |key: &str| if is_none(key) { String::new() } else { amount(key).unwrap_or_default() };
    let shown = |key: &str| amount(key).unwrap_or_default();
    vec![
        name.to_owned(),
        shown("capacity"),
        reserved("systemReserved"),
        reserved("kubeReserved"),
        reserved("evictionHard"),
        shown("allocatable"),
        shown("requested"),
        shown("used"),
    ]
}

pub(crate) fn threshold_row(state: &Value) -> Vec<String> {
    let unit = |value: &Value| match value.as_i64() {
        None => "<unknown>".to_owned(),
        Some(amount) if state["inBytes"] == true => readable_bytes(amount),
        Some(amount) => amount.to_string(),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let distance = &state["distance"];
    let away = match distance.as_i64() {
        Some(distance) if distance < 0 => format!("met, {} short", unit(&Value::from(-distance))),
        _ => unit(distance),
    };
    let grace = state["gracePeriodSeconds"].as_i64();
    vec![
        text(&state["signal"]),
        text(&state["threshold"]),
        grace.map_or_else(|| "hard".to_owned(), |seconds| format!("{seconds}s")),
        unit(&state["available"]),
        unit(&state["capacity"]),
        away,
    ]
}

/// The message says what is wrong with the node: why it isn't ready, and which sources of pods can't be read, and which plugins
/// aren't loaded.
fn node_row(node: &Node, now: Timestamp) -> Vec<String> {
    let ready = conditions::ready(node);
    let word = match ready.map(|c| c.status.as_str()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let since = ready.and_then(|c| c.last_transition_time.as_ref()).map(|at| table::age(now, at.0));
    let not_ready = ready.filter(|c| c.status != "True");
    let unread = conditions::of_type(node, conditions::SOURCE_UNREADABLE).filter(|c| c.status == "True");
    let pressures = conditions::PRESSURES.into_iter();
    let short = pressures.filter_map(|pressure| conditions::of_type(node, pressure.condition()));
    let short = short.filter(|c| c.status == "True");
    let plugins = conditions::of_type(node, conditions::PLUGINS_READY).filter(|c| c.status == "False");
    let wrong = not_ready.into_iter().chain(unread).chain(plugins).chain(short);
    let wrong: Vec<&str> = wrong.filter_map(|c| c.message.as_deref()).collect();
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    vec![
        node.metadata.name.clone().unwrap_or_default(),
        word.into(),
        since.unwrap_or_default(),
        info.map(|info| info.kubelet_version.clone()).unwrap_or_default(),
        wrong.join("; "),
    ]
}

#[cfg(test)]
mod tests;

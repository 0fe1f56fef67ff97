//! Sections that several descriptions have: times, events, maps.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::text::{NONE, Text};
use crate::get::table::{age, render};

/// A time as kubectl describes it (RFC 1123 with a zone).
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

/// How long ago something was, in kubectl's short form.
pub(super) fn ago(at: &Value, now: Timestamp) -> String {
    let at = at.as_str().and_then(|at| at.parse().ok());
    at.map_or_else(|| "<unknown>".to_owned(), |at| age(now, at))
}

/// A map with an entry on each line.
pub(super) fn map(
    text: &mut Text,
    level: usize,
    key: &str,
    map: Option<&BTreeMap<String, String>>,
    sign: &str,
) {
    let entries = map.into_iter().flatten().map(|(name, value)| format!("{name}{sign}{value}"));
    text.list(level, key, entries);
}

/// A text, or nothing.
pub(super) fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

/// Events as kubectl shows them below a description.
pub(super) fn events(text: &mut Text, events: &[Value], now: Timestamp) {
    let row = |event: &Value| {
        let last = ago(&event["lastTimestamp"], now);
        let age = match event["count"].as_u64() {
            Some(count) if count > 1 => {
                format!("{last} (x{count} over {})", ago(&event["firstTimestamp"], now))
            }
            Some(_) | None => last,
        };
        vec![string(&event["type"]), string(&event["reason"]), age, string(&event["message"])]
    };
    let rows: Vec<Vec<String>> = events.iter().map(row).collect();
    text.table("Events", rows.len(), &render(&["TYPE", "REASON", "AGE", "MESSAGE"], &rows), NONE);
}

/// The table of conditions: type, status, since when, reason and message. The API has a type for those of pods and one for those of nodes.
pub(super) fn conditions_table(text: &mut Text, rows: impl Iterator<Item = [Option<String>; 5]>) {
    let rows: Vec<Vec<String>> = rows.map(|row| row.map(Option::unwrap_or_default).into()).collect();
    let header = ["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"];
    text.table("Conditions", rows.len(), &render(&header, &rows), NONE);
}

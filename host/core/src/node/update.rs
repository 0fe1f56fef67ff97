//! What of the node is sent to the API server, and when.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

/// The node's status is reckoned this often (upstream: `nodeStatusUpdateFrequency`).
pub const STATUS_UPDATE_FREQUENCY: Duration = Duration::from_secs(10);
/// It is sent this often where nothing changed (upstream: `nodeStatusReportFrequency`).
pub const STATUS_REPORT_FREQUENCY: Duration = Duration::from_secs(5 * 60);

/// The strategic merge patch that makes `from` into `to`, for the status of the node: labels, annotations and status, nothing
/// of the spec. None if they are the same. Conditions go one by one; addresses are replaced as a whole, because their merge key
/// isn't unique (upstream: `fixupPatchForNodeStatusAddresses`).
pub fn patch(from: &Node, to: &Node) -> Option<Value> {
    difference(&parts(from), &parts(to))
}

/// Whether the two say something else, times of heartbeats left aside (upstream: `nodeStatusHasChanged`).
pub fn has_changed(from: &Node, to: &Node) -> bool {
    let quiet = |node: &Node| {
        let mut parts = parts(node);
        let conditions = parts.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.remove("lastHeartbeatTime");
        }
        parts
    };
    difference(&quiet(from), &quiet(to)).is_some()
}

/// Returns what of a node this is about, without what is empty.
fn parts(node: &Node) -> Value {
    let whole = serde_json::to_value(node).unwrap_or_default();
    let part = |pointer: &str| whole.pointer(pointer).cloned().unwrap_or_default();
    let mut parts = json!({
        "metadata": {"labels": part("/metadata/labels"), "annotations": part("/metadata/annotations")},
        "status": part("/status"),
    });
    drop_empty(&mut parts);
    parts
}

/// An empty list is no list, to the API server too. Empty texts stay.
fn drop_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(drop_empty);
        fields.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        });
    }
}

fn difference(from: &Value, to: &Value) -> Option<Value> {
    let nothing = Map::new();
    let object = |value: &'_ Value| value.as_object().cloned();
    let (from, to) = (object(from).unwrap_or_default(), object(to).unwrap_or_default());
    let mut changes = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    for (key, value) in &to {
        let known = from.get(key);
        if known == Some(value) {
            continue;
        }
        let change = match (key.as_str(), value) {
            ("conditions", Value::Array(all)) => conditions(known, all),
            ("addresses", Value::Array(all)) => {
                let replace = std::iter::once(json!({"$patch": "replace"}));
                Some(Value::Array(all.iter().cloned().chain(replace).collect()))
            }
            (_, Value::Object(_)) => difference(known.unwrap_or(&Value::Object(nothing.clone())), value),
            _ => Some(value.clone()),
        };
        if let Some(change) = change {
            changes.insert(key.clone(), change);
        }
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

/// Conditions merge by their type; others' are never named.
fn conditions(known: Option<&Value>, desired: &[Value]) -> Option<Value> {
    let known: &[Value] = known.and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let mut changes = Vec::new();
    for condition in desired {
        let before = known.iter().find(|before| before["type"] == condition["type"]);
        let change = match before {
            Some(before) => difference(before, condition),
            None => Some(condition.clone()),
        };
        if let Some(Value::Object(mut change)) = change {
            change.insert("type".to_owned(), condition["type"].clone());
            changes.push(Value::Object(change));
        }
    }
    (!changes.is_empty()).then_some(Value::Array(changes))
}

/// When the status is to be sent. A value: time and chance come in from outside.
#[derive(Clone, Debug)]
pub struct ReportSchedule {
    every: SignedDuration,
    sent: Option<Timestamp>,
    wait: SignedDuration,
}

impl ReportSchedule {
    /// Creates the state before anything was sent.
    pub fn new(every: Duration) -> Self {
        let every = SignedDuration::try_from(every).unwrap_or(SignedDuration::MAX);
        Self { every, sent: None, wait: every }
    }

    /// Whether it is time: on a change, or when nothing was sent for long.
    pub fn is_due(&self, changed: bool, now: Timestamp) -> bool {
        // A last time that lies ahead is of before the clock was set back.
        changed || self.sent.is_none_or(|sent| now.duration_since(sent) >= self.wait || now < sent)
    }

    /// It was sent. After a change the next one comes half the time earlier or later, by `chance` in `[0, 1)`, so that nodes
    /// that changed together don't report together for good (upstream: `calculateDelay`).
    pub fn sent(&mut self, changed: bool, now: Timestamp, chance: f64) {
        let factor = if changed { 0.5 + chance } else { 1.0 };
        self.sent = Some(now);
        self.wait =
            SignedDuration::try_from_secs_f64(self.every.as_secs_f64() * factor).unwrap_or(self.every);
    }
}

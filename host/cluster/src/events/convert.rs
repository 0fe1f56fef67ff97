//! Converts the agent's events to the API's `Event`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};
use witlet_core::event::correlate::{Outgoing, Subject};
use witlet_core::node::whole_seconds;

#[cfg(test)]
mod tests;

/// Who reports, as upstream's agent names itself: people and tools select by it.
const COMPONENT: &str = "kubelet";
/// Where events are about what has no namespace.
const DEFAULT_NAMESPACE: &str = "default";
/// How long a name may be, in bytes.
const NAME_BYTES_MAX: usize = 253;

/// The namespace that the event is in: its object's.
pub(super) fn namespace(event: &Outgoing) -> &str {
    match &event.key.subject {
        Subject::Pod { full_name, uid: _ } => &full_name.namespace,
        Subject::Node => DEFAULT_NAMESPACE,
    }
}

/// The name of the event: its object's, and a number of its own.
pub(super) fn name(event: &Outgoing, node_name: &str) -> String {
    let object = match &event.key.subject {
        Subject::Pod { full_name, uid: _ } => &full_name.name,
        Subject::Node => node_name,
    };
    let number = format!("{:x}", event.stamp);
    let left = NAME_BYTES_MAX.saturating_sub(number.len() + 1);
    let cut = &object[..object.floor_char_boundary(left)];
    format!("{}.{number}", cut.trim_end_matches(['.', '-']))
}

/// The whole object.
pub(super) fn event(event: &Outgoing, node_name: &str) -> api::Event {
    let involved_object = match &event.key.subject {
        Subject::Pod { full_name, uid } => api::ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(full_name.namespace.to_string()),
            name: Some(full_name.name.to_string()),
            uid: Some(uid.as_str().to_owned()),
            field_path: event.key.field_path.clone(),
            ..api::ObjectReference::default()
        },
        // Upstream gives the node's name for its UID, and anyone who looks for events about a node asks for that.
        Subject::Node => api::ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(node_name.to_owned()),
            uid: Some(node_name.to_owned()),
            ..api::ObjectReference::default()
        },
    };
    let kind = if event.key.is_warning { "Warning" } else { "Normal" };
    api::Event {
        metadata: ObjectMeta {
            name: Some(name(event, node_name)),
            namespace: Some(namespace(event).to_owned()),
            annotations: (!event.annotations.is_empty()).then(|| event.annotations.clone()),
            ..ObjectMeta::default()
        },
        involved_object,
        reason: Some(event.key.reason.clone()),
        message: Some(event.message.clone()),
        type_: Some(kind.to_owned()),
        count: Some(count(event)),
        first_timestamp: Some(time(event.first)),
        last_timestamp: Some(time(event.last)),
        source: Some(api::EventSource {
            component: Some(COMPONENT.to_owned()),
            host: Some(node_name.to_owned()),
        }),
        reporting_component: Some(COMPONENT.to_owned()),
        reporting_instance: Some(node_name.to_owned()),
        ..api::Event::default()
    }
}

/// Returns what changes when it happens again.
pub(super) fn repeat(event: &Outgoing) -> Value {
    json!({"count": count(event), "lastTimestamp": time(event.last), "message": event.message})
}

fn count(event: &Outgoing) -> i32 {
    i32::try_from(event.count).unwrap_or(i32::MAX)
}

fn time(time: Timestamp) -> Time {
    Time(whole_seconds(time))
}

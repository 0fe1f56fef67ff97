//! Events as the local API shows them.

use serde_json::{Value, json};
use witlet_core::event::{EventObject, EventType};
use witlet_ports::RecordedEvent;

/// An event of the API, as far as the agent knows it.
pub(super) fn event_json(recorded: &RecordedEvent) -> Value {
    let event = &recorded.event;
    let object = match &event.object {
        EventObject::Pod { full_name, uid, field_path } => {
            let (namespace, name) = (&full_name.namespace, &full_name.name);
            let mut pod = json!({"kind": "Pod", "namespace": namespace, "name": name, "uid": uid});
            if let Some(path) = field_path {
                pod["fieldPath"] = path.as_str().into();
            }
            pod
        }
        EventObject::Node => json!({"kind": "Node"}),
        EventObject::Plugin(name) => json!({"kind": "Plugin", "name": name}),
        EventObject::Source { source, place } => json!({"kind": "Source", "name": source, "place": place}),
    };
    let kind = match event.kind {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    };
    let mut metadata = json!({"resourceVersion": recorded.version.to_string()});
    if !event.annotations.is_empty() {
        metadata["annotations"] = json!(event.annotations);
    }
    json!({
        "metadata": metadata,
        "involvedObject": object,
        "type": kind,
        "reason": event.reason,
        "message": event.message,
        "count": recorded.count,
        "firstTimestamp": recorded.first_seen.to_string(),
        "lastTimestamp": recorded.last_seen.to_string(),
    })
}

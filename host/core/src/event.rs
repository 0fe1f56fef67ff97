//! Kubernetes events: what happened to an object, in upstream's reasons (`events/event.go`).

pub mod correlate;
mod lru;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Pod;

use crate::container::plan::container_named;
use crate::pod::{PodFullName, PodUid};

/// Normal or Warning, as the events API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// Something someone should check.
    Warning,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventObject {
    /// A pod, by name and UID.
    Pod {
        full_name: PodFullName,
        /// UID as the agent knows it.
        uid: PodUid,
        /// The [container](container_path) that it concerns; none for the pod as a whole.
        field_path: Option<String>,
    },
    Node,
    /// A plugin by its configured name.
    Plugin(String),
    /// A pod source and the place in it, such as a manifest's path.
    Source {
        /// Name of the source.
        source: String,
        /// File, URL or the like.
        place: String,
    },
}

impl fmt::Display for EventObject {
    /// Writes it as logs do: `pod default/web`, `pod default/web spec.containers{app}`, `node`, `plugin x`, `file /etc/…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { full_name, uid: _, field_path: None } => write!(f, "pod {full_name}"),
            Self::Pod { full_name, uid: _, field_path: Some(path) } => write!(f, "pod {full_name} {path}"),
            Self::Node => f.write_str("node"),
            Self::Plugin(name) => write!(f, "plugin {name}"),
            Self::Source { source, place } => write!(f, "{source} {place}"),
        }
    }
}

/// Where the spec has a container, as the `fieldPath` of an event's object (upstream: `kubelet/container/ref.go`); none if it
/// hasn't.
pub fn container_path(pod: &Pod, container: &str) -> Option<String> {
    let list = container_named(pod, container)?.kind.list();
    Some(format!("spec.{list}{{{container}}}"))
}

/// One event before it is correlated, rate limited and sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// What it is about.
    pub object: EventObject,
    pub kind: EventType,
    /// Upstream's CamelCase reason where there is one.
    pub reason: String,
    /// One sentence for people.
    pub message: String,
    /// Annotations of the event's object.
    pub annotations: BTreeMap<String, String>,
}

impl Event {
    /// Creates an event without annotations.
    pub fn new(
        object: EventObject,
        kind: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (reason, message) = (reason.into(), message.into());
        Self { object, kind, reason, message, annotations: BTreeMap::new() }
    }

    /// Something someone should check, without annotations.
    pub fn warning(object: EventObject, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(object, EventType::Warning, reason, message)
    }
}

#[cfg(test)]
mod tests {
    //! What an event is about.

    use serde_json::json;

    use super::*;

    #[test]
    fn containers_are_reported_by_their_place_in_the_spec() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "initContainers": [{"name": "first"}, {"name": "sidecar", "restartPolicy": "Always"}],
            "containers": [{"name": "app"}],
            "ephemeralContainers": [{"name": "debug"}],
        }}))
        .expect("a pod");
        let cases = [
            ("first", Some("spec.initContainers{first}")),
            ("sidecar", Some("spec.initContainers{sidecar}")),
            ("app", Some("spec.containers{app}")),
            ("debug", Some("spec.ephemeralContainers{debug}")),
            ("gone", None),
        ];
        for (name, expected) in cases {
            assert_eq!(container_path(&pod, name).as_deref(), expected, "{name}");
        }
    }
}

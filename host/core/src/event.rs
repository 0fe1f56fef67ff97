//! Kubernetes events: what happened to an object, in upstream's reasons (`events/event.go`).

use std::fmt;

use crate::pod::{PodFullName, PodUid};

/// Normal or Warning, as the events API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// Something somebody should look at.
    Warning,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventObject {
    /// A pod, by name and UID.
    Pod {
        /// Namespace and name.
        full_name: PodFullName,
        /// UID as the agent knows it.
        uid: PodUid,
    },
    /// This node.
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
    /// As logs name it: `pod default/web`, `node`, `plugin x`, `file /etc/…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { full_name, uid: _ } => write!(f, "pod {full_name}"),
            Self::Node => f.write_str("node"),
            Self::Plugin(name) => write!(f, "plugin {name}"),
            Self::Source { source, place } => write!(f, "{source} {place}"),
        }
    }
}

/// One event before it is correlated, rate limited and sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// What it is about.
    pub object: EventObject,
    /// Normal or Warning.
    pub kind: EventType,
    /// Upstream's CamelCase reason where there is one.
    pub reason: String,
    /// One sentence for people.
    pub message: String,
}

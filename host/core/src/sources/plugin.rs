//! What a pod source outside the host says, in the host's words.

use std::time::Duration;

/// What a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// The same as at its last answer that gave pods or said that there are none.
    Unchanged,
    /// These manifests, one pod each, and no others.
    Pods(Vec<String>),
    Empty,
}

/// A source's answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollResponse {
    pub snapshot: Snapshot,
    /// Handed to it with the next poll.
    pub cursor: Option<String>,
    /// When it wants to be asked again; none leaves it to the host.
    pub next_poll: Option<Duration>,
}

/// Why a source can't tell what it has, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFault {
    /// A CamelCase word.
    pub reason: String,
    pub message: String,
    /// When it wants to be asked again; none leaves it to the host.
    pub retry_after: Option<Duration>,
}

/// News of one pod of a source, for the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodNews {
    /// Its status changed, or it is gone.
    Status(PodStatusChange),
    LeftOut(LeftOutPod),
}

impl PodNews {
    /// `metadata.namespace`; empty where it isn't known.
    pub fn namespace(&self) -> &str {
        match self {
            Self::Status(change) => &change.namespace,
            Self::LeftOut(pod) => &pod.namespace,
        }
    }

    /// Returns the name as the source named it; empty where it isn't known.
    pub fn name(&self) -> &str {
        match self {
            Self::Status(change) => &change.name,
            Self::LeftOut(pod) => &pod.name,
        }
    }
}

/// A pod that a source named and that isn't run, for the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutPod {
    /// `metadata.namespace`; empty of a manifest that could not be read so far.
    pub namespace: String,
    /// As the source named it; empty of a manifest that could not be read so far.
    pub name: String,
    /// A CamelCase word.
    pub reason: String,
    pub message: String,
}

/// The status of one pod of a source, for the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodStatusChange {
    /// `metadata.namespace`
    pub namespace: String,
    /// As the source named it.
    pub name: String,
    /// As the agent knows it.
    pub uid: String,
    /// The pod's `status` as JSON; none once the pod is gone.
    pub status: Option<String>,
}

//! Admission: what a handler is asked, what it may answer, and what the host makes of the answers.

pub mod capacity;
pub mod chain;
pub mod facts;
pub mod image;
pub mod outcome;
pub mod preemption;
pub mod readmit;
pub mod recheck;
pub mod rejections;
pub mod review;
pub mod rollout;
pub mod verdicts;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::image::ResolvedImage;
use crate::node::NodeFacts;
use crate::pod::{PodUid, SourceName};

/// Why admission is asked. Kubernetes knows the first two operations (`lifecycle/interfaces.go`). Recorded calls have its camelCase form,
/// all else [`Operation::as_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// The pod is new to this node.
    Add,
    /// A running pod asks for other resources.
    Resize,
    /// The image of a container was edited in a running pod.
    Update,
    /// Ephemeral containers were added to a running pod.
    Ephemeral,
    /// The image of a container that is to start is on the node.
    ImageResolved,
    /// A pod ran before the agent was started, and the verdict on it stands.
    Readmit,
    /// A pod that runs is asked about again.
    Recheck,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Add,
        Self::Resize,
        Self::Update,
        Self::Ephemeral,
        Self::ImageResolved,
        Self::Readmit,
        Self::Recheck,
    ];

    /// Returns its name, as configurations, reports and logs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Resize => "resize",
            Self::Update => "update",
            Self::Ephemeral => "ephemeral",
            Self::ImageResolved => "image-resolved",
            Self::Readmit => "readmit",
            Self::Recheck => "recheck",
        }
    }

    /// Whether it is about a pod that runs and that nothing was changed of. Nothing but a rejection changes anything then, and it ends the
    /// pod.
    pub fn is_of_running_pod(self) -> bool {
        match self {
            Self::Readmit | Self::Recheck => true,
            Self::Add | Self::Resize | Self::Update | Self::Ephemeral | Self::ImageResolved => false,
        }
    }

    /// The operation of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == name)
    }

    /// Returns all names, as sentences list them.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

/// A pod that counts against the node: admitted, and not terminal.
#[derive(Clone, Debug)]
pub struct AdmittedPod {
    /// The pod with its allocated resources in place of the desired ones.
    pub pod: Arc<Pod>,
    /// Where it came from.
    pub source: SourceName,
}

/// Everything that a handler may check. A verdict is a function of this and of the handler's configuration.
#[derive(Clone, Debug)]
pub struct AdmissionRequest {
    /// Why it is asked.
    pub operation: Operation,
    /// The time of the decision; guests see their clocks stand still at it.
    pub now: Timestamp,
    /// The pod that asks.
    pub pod: Arc<Pod>,
    /// The pod as it runs, with the resources, images and ephemeral containers that it has; none for a new pod.
    pub old_pod: Option<Arc<Pod>>,
    /// The image that a container of the pod is to be started from; of [`Operation::ImageResolved`] alone.
    pub image: Option<Arc<ResolvedImage>>,
    /// The source that brought it.
    pub source: SourceName,
    /// The node as it is now.
    pub node: Arc<NodeFacts>,
    /// The admitted, not terminal pods of this node without the one that asks.
    pub other_pods: Arc<[AdmittedPod]>,
}

/// One resource that doesn't suffice. Milli-units for `cpu`, base units for everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// Resource name as in a pod's requests (`cpu`, `memory`, `pods`, …).
    pub resource: String,
    /// What the pod asks for.
    pub requested: i64,
    /// What the admitted pods have.
    pub used: i64,
    /// What the node can give.
    pub capacity: i64,
}

/// What one handler says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admit,
    /// The pod may never run here: phase Failed with this reason.
    Reject {
        /// CamelCase word for the pod's status.
        reason: String,
        /// One sentence for people.
        message: String,
    },
    /// Not now: the pod waits with reason `Blocked` and is asked again.
    Defer {
        /// CamelCase word for the pod's status.
        reason: String,
        /// One sentence for people.
        message: String,
        /// Ask again after this long; the host never asks before a second has passed.
        retry_after: Duration,
    },
    /// The node lacks resources. The remaining handlers still run, for only a pod that fails by nothing else
    /// may have others preempted for it.
    Shortage(Vec<Shortage>),
}

/// What the host decides after all handlers were asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The pod may run.
    Admit,
    /// The pod is failed with this reason and message.
    Reject {
        /// Reason of the pod's status.
        reason: String,
        /// Message without the prefix `Pod was rejected: `, which the status adds.
        message: String,
        /// The configured handler whose answer, or failure, decided. None if a shipped one did, and if a critical pod lacks resources.
        handler: Option<String>,
    },
    /// The node lacks resources for a critical pod, and these pods free resources for it: they are ended, and the pod is asked
    /// for again when they are gone. Until then it waits.
    Preempt {
        /// Pods of `other_pods`; not empty.
        victims: Vec<PodUid>,
        /// The first resource that lacks.
        resource: String,
        /// What lacks, in one sentence.
        message: String,
    },
    /// The pod waits as `Blocked`.
    Defer {
        /// The handler's reason, or the host's when the handler failed under `failurePolicy: Defer`.
        reason: String,
        /// The handler's message, or the failure's.
        message: String,
        /// At least one second.
        retry_after: Duration,
    },
}

//! The conditions of an in-place resize (KEP-1287): `PodResizePending` and `PodResizeInProgress`.

use k8s_openapi::api::core::v1::PodCondition;

/// Condition: the node hasn't granted what the pod asks for now.
pub const PENDING: &str = "PodResizePending";
/// Condition: what was granted isn't in force yet.
pub(super) const IN_PROGRESS: &str = "PodResizeInProgress";

/// How a pod's resize stands. The default is a pod that isn't being resized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResizeStatus {
    /// The node hasn't granted it.
    pub pending: Option<ResizePending>,
    /// It was granted, and isn't in force yet. Both at once means that a newer resize waits.
    pub in_progress: Option<ResizeInProgress>,
}

/// A resize that wasn't granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResizePending {
    /// Whether it may be granted later.
    pub reason: ResizePendingReason,
    /// One sentence for people.
    pub message: String,
    /// The `metadata.generation` that asked for it.
    pub generation: Option<i64>,
}

/// Why a resize wasn't granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResizePendingReason {
    /// The node can't now, and tries again.
    Deferred,
    /// The node never can.
    Infeasible,
}

/// A resize that was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResizeInProgress {
    /// Why it isn't in force although that was tried; it is tried again.
    pub error: Option<String>,
    /// The `metadata.generation` that asked for it.
    pub generation: Option<i64>,
}

impl ResizePendingReason {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deferred => "Deferred",
            Self::Infeasible => "Infeasible",
        }
    }
}

/// The conditions without their times, the pending one first.
pub(super) fn conditions(resize: &ResizeStatus) -> impl Iterator<Item = PodCondition> + '_ {
    let pending = resize.pending.iter().map(|pending| PodCondition {
        reason: Some(pending.reason.as_str().to_owned()),
        message: Some(pending.message.clone()).filter(|message| !message.is_empty()),
        observed_generation: pending.generation,
        ..holds(PENDING)
    });
    let in_progress = resize.in_progress.iter().map(|in_progress| PodCondition {
        reason: in_progress.error.as_ref().map(|_| "Error".to_owned()),
        message: in_progress.error.clone(),
        observed_generation: in_progress.generation,
        ..holds(IN_PROGRESS)
    });
    pending.chain(in_progress)
}

fn holds(kind: &str) -> PodCondition {
    PodCondition { type_: kind.to_owned(), status: "True".to_owned(), ..PodCondition::default() }
}

//! What a decision comes to for the pod, in the words of its status: for those who ask before there is a pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};

use super::{Decision, Operation, preemption};
use crate::pod::allocation::{Allocation, NodePolicy};
use crate::pod::edit;
use crate::pod::resize::{Effect, Resize, ResizeFacts};
use crate::status::{self, EditKind, PendingEdit, PendingEditReason, RESIZE_PENDING, ResizePending};

#[cfg(test)]
mod tests;

/// What a decision comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// What the pod's status would say; none if the pod starts, or goes on with what it asks for. Of a resize and of an edit it has
    /// the one condition that changes. What becomes of a container's image, or of a pod that runs, isn't shown.
    pub status: Option<PodStatus>,
}

/// An outcome in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeKind {
    /// It starts, or gets what it asks for.
    Admitted,
    /// It never runs here, or never gets what it asks for.
    Rejected,
    /// It waits, and is asked about again.
    Deferred,
    /// It waits until others have ended for it.
    Preempting,
}

impl OutcomeKind {
    /// Converts a decision for which no pod is ended.
    fn of_running(decision: &Decision) -> Self {
        match decision {
            Decision::Admit => Self::Admitted,
            Decision::Reject { .. } | Decision::Preempt { .. } => Self::Rejected,
            Decision::Defer { .. } => Self::Deferred,
        }
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Rejected => "rejected",
            Self::Deferred => "deferred",
            Self::Preempting => "preempting",
        }
    }
}

impl Outcome {
    const ADMITTED: Self = Self { kind: OutcomeKind::Admitted, status: None };

    /// Converts the handlers' decision about a pod.
    pub fn of(pod: &Pod, operation: Operation, decision: Decision, now: Timestamp) -> Self {
        match operation {
            Operation::Add => Self::of_new_pod(pod, decision, now),
            Operation::Resize => {
                let mut resize = Resize::default();
                resize.decided(pod, decision);
                Self::of_resize(&resize)
            }
            Operation::Update => Self::of_edit(edit::pending(EditKind::Images, pod, &decision)),
            Operation::Ephemeral => {
                Self::of_edit(edit::pending(EditKind::EphemeralContainers, pod, &decision))
            }
            Operation::ImageResolved | Operation::Readmit | Operation::Recheck => {
                Self { kind: OutcomeKind::of_running(&decision), status: None }
            }
        }
    }

    fn of_edit(pending: Option<PendingEdit>) -> Self {
        let Some(pending) = pending else { return Self::ADMITTED };
        let kind = match pending.reason {
            PendingEditReason::Rejected => OutcomeKind::Rejected,
            PendingEditReason::Deferred => OutcomeKind::Deferred,
        };
        let status = PodStatus { conditions: Some(vec![pending.condition()]), ..PodStatus::default() };
        Self { kind, status: Some(status) }
    }

    fn of_new_pod(pod: &Pod, decision: Decision, now: Timestamp) -> Self {
        let blocked = |reason: &str, message: &str| {
            Some(status::blocked(pod, pod.status.as_ref(), reason, message, now))
        };
        match decision {
            Decision::Admit => Self::ADMITTED,
            Decision::Reject { reason, message, .. } => {
                let status = Some(status::rejected(pod, &reason, &message, now));
                Self { kind: OutcomeKind::Rejected, status }
            }
            Decision::Defer { reason, message, .. } => {
                Self { kind: OutcomeKind::Deferred, status: blocked(&reason, &message) }
            }
            Decision::Preempt { message, .. } => {
                Self { kind: OutcomeKind::Preempting, status: blocked(preemption::REASON, &message) }
            }
        }
    }

    fn of_resize(resize: &Resize) -> Self {
        let Some(ResizePending { reason, message, generation }) = resize.pending().cloned() else {
            return Self::ADMITTED;
        };
        let kind = if resize.is_infeasible() { OutcomeKind::Rejected } else { OutcomeKind::Deferred };
        let condition = PodCondition {
            type_: RESIZE_PENDING.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.as_str().to_owned()),
            message: Some(message),
            observed_generation: generation,
            ..PodCondition::default()
        };
        let status = PodStatus { conditions: Some(vec![condition]), ..PodStatus::default() };
        Self { kind, status: Some(status) }
    }
}

/// Returns what becomes of a resize before any handler is asked; none if they are asked about it. `old` is the pod with what it has.
pub fn before_resize(pod: &Pod, old: &Pod, node: NodePolicy, now: Timestamp) -> Option<Outcome> {
    let (mut resize, allocation) = (Resize::default(), Allocation::of(old));
    let facts = ResizeFacts { pod, allocation: &allocation, node, is_ending: false, now };
    let effects = resize.consider(facts);
    let is_asked = effects.iter().any(|effect| matches!(effect, Effect::Ask(_)));
    (!is_asked).then(|| Outcome::of_resize(&resize))
}

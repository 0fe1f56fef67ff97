//! Edits of a running pod that admission is asked about: images of its containers, and ephemeral containers.

use k8s_openapi::api::core::v1::Pod;

use crate::admission::{Decision, Operation};
use crate::status::{EditKind, PendingEdit, PendingEditReason};

/// What admission is asked about such an edit.
pub fn operation(kind: EditKind) -> Operation {
    match kind {
        EditKind::Images => Operation::Update,
        EditKind::EphemeralContainers => Operation::Ephemeral,
    }
}

/// What a decision about an edit of this pod leaves pending; none if the edit is admitted.
pub fn pending(kind: EditKind, pod: &Pod, decision: Decision) -> Option<PendingEdit> {
    let (reason, message) = match decision {
        Decision::Admit => return None,
        Decision::Reject { reason, message, .. } => {
            (PendingEditReason::Rejected, format!("{reason}: {message}"))
        }
        Decision::Defer { reason, message, .. } => {
            (PendingEditReason::Deferred, format!("{reason}: {message}"))
        }
        // No one is ended for a pod that runs.
        Decision::Preempt { message, .. } => (PendingEditReason::Rejected, message),
    };
    Some(PendingEdit { kind, reason, message, generation: pod.metadata.generation })
}

//! `activeDeadlineSeconds`: how long a pod may be on its node (upstream: `active_deadline.go`).

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

#[cfg(test)]
mod tests;

/// The reason of a pod that has been on the node for longer than it may.
pub const REASON: &str = "DeadlineExceeded";
/// The message of such a pod, in upstream's words, which tools look for.
pub const MESSAGE: &str = "Pod was active on the node longer than the specified deadline";

/// When the pod has been on the node for as long as it may, if it was started then; none if it may be for as long as it
/// likes. That is also when to check it again.
pub fn of(pod: &Pod, started_at: Timestamp) -> Option<Timestamp> {
    let seconds = pod.spec.as_ref()?.active_deadline_seconds?;
    // Further off than times go is never.
    started_at.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Whether the pod's time is over. A pod without a start in its status hasn't begun to use it up.
pub fn is_over(pod: &Pod, started_at: Option<Timestamp>, now: Timestamp) -> bool {
    started_at.and_then(|started_at| of(pod, started_at)).is_some_and(|deadline| deadline <= now)
}

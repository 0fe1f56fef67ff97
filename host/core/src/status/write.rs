//! What is written about a pod to the API server next, and what follows from the server's answer (upstream: `syncPod`,
//! `needsUpdate`, `needsReconcile` and `canBeDeleted` of the status manager).

use std::sync::LazyLock;
use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde_json::Value;

use super::patch::in_whole_seconds;
use super::{Phase, merge, patch};

#[cfg(test)]
mod tests;

/// After a first failure a write is tried again in this time; each further one doubles it.
pub const RETRY_MIN: Duration = Duration::from_millis(500);
/// And never in more, so that a server that returns gets every pod's status within one round.
pub const RETRY_MAX: Duration = Duration::from_secs(10);
/// A server that asks for a longer pause than this gets only this.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// What the API server has of a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtServer<'a> {
    /// `metadata.uid`; of a static pod the mirror's.
    pub uid: &'a str,
    /// `metadata.resourceVersion`
    pub resource_version: &'a str,
    /// Whether it has a deletion timestamp.
    pub is_deleted: bool,
    pub status: &'a PodStatus,
}

impl<'a> AtServer<'a> {
    /// What an object says.
    pub fn of(pod: &'a Pod) -> Self {
        static NONE: LazyLock<PodStatus> = LazyLock::new(PodStatus::default);
        Self {
            uid: pod.metadata.uid.as_deref().unwrap_or_default(),
            resource_version: pod.metadata.resource_version.as_deref().unwrap_or_default(),
            is_deleted: pod.metadata.deletion_timestamp.is_some(),
            status: pod.status.as_ref().unwrap_or(&NONE),
        }
    }

    /// Whether it is of the same object as the other, and newer.
    pub fn is_newer_than(&self, other: &AtServer<'_>) -> bool {
        self.uid == other.uid && is_newer(self.resource_version, other.resource_version)
    }
}

/// Whether one resource version of an object is newer than another. They are numbers that grow; what isn't counts as older.
pub fn is_newer(version: &str, than: &str) -> bool {
    let number = |text: &str| text.parse::<u128>().ok();
    number(version) > number(than)
}

/// What the agent reports a pod.
#[derive(Clone, Copy, Debug)]
pub struct AtNode<'a> {
    /// The newest status that it made.
    pub status: Option<&'a PodStatus>,
    /// Whether containers of it may run.
    pub may_run: bool,
    /// Whether all that it had on the node is gone.
    pub is_finished: bool,
    /// Whether the object is the mirror of a static pod.
    pub is_static: bool,
}

/// A write to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A strategic merge patch on `pods/status`.
    Patch {
        body: Value,
        /// What the server's status is to be.
        desired: Box<PodStatus>,
    },
    /// The object may go: without grace, if it still has this UID.
    Delete,
    /// The server has all that there is to tell.
    Nothing,
}

/// Returns what is to be written now. `at` is the newest that is known of the server's object.
pub fn next_write(at: AtServer<'_>, at_node: AtNode<'_>, now: Timestamp) -> Write {
    if let Some(status) = at_node.status {
        let mut desired = merge(at.status, status, at_node.may_run, now);
        in_whole_seconds(&mut desired);
        if let Some(body) = patch(at.uid, at.status, &desired) {
            return Write::Patch { body, desired: Box::new(desired) };
        }
    }
    if can_be_deleted(at, at_node) { Write::Delete } else { Write::Nothing }
}

/// A deleted pod's object may go once its end was reported and nothing of the pod is left on the node. Mirror pods go with
/// their static pods only.
pub fn can_be_deleted(at: AtServer<'_>, at_node: AtNode<'_>) -> bool {
    let has_ended = Phase::of(at.status).is_some_and(Phase::is_terminal);
    at.is_deleted && !at_node.is_static && has_ended && at_node.is_finished
}

/// What follows from an answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The object isn't the one that was meant, or is gone: nothing is written until the watch brings something new of it.
    AwaitNews,
    /// This write failed and is tried again after a back-off of its own.
    Retry,
    /// The server has trouble: no one's writes are sent until its back-off ends, which is at least this long.
    Pause(Duration),
}

/// Judges an answer that isn't a success: its HTTP code, the server's own words if it is the API server's, and what
/// `Retry-After` says. No code means that there was no answer at all.
pub fn judge(code: Option<u16>, words: Option<&Status>, retry_after: Option<Duration>) -> Next {
    let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
    match code {
        // Only the API server's own word counts: something between may say 404 while it is down.
        Some(404) if reason_is(words, "NotFound") => Next::AwaitNews,
        Some(409) if words.is_some() => Next::AwaitNews,
        Some(422) if is_about_uid(words) => Next::AwaitNews,
        None | Some(408 | 429 | 502 | 503 | 504) => Next::Pause(asked),
        // All use the same credentials.
        Some(401) => Next::Pause(asked),
        Some(_) if retry_after.is_some() => Next::Pause(asked),
        Some(_) => Next::Retry,
    }
}

fn reason_is(words: Option<&Status>, reason: &str) -> bool {
    words.is_some_and(|words| words.reason.as_deref() == Some(reason))
}

/// The pod of this name has another UID: the precondition was taken for an attempt to change it.
fn is_about_uid(words: Option<&Status>) -> bool {
    let details = words.and_then(|words| words.details.as_ref());
    let mut causes = details.and_then(|details| details.causes.as_ref()).into_iter().flatten();
    causes.any(|cause| cause.field.as_deref() == Some("metadata.uid"))
}

/// How long to wait after so many failures in a row, at least 1. `jitter` is in `[0, 1)` and only shortens.
pub fn backoff(failures: u32, jitter: f64) -> Duration {
    let policy = BackoffPolicy { initial: RETRY_MIN, max: RETRY_MAX };
    policy.after(failures).mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

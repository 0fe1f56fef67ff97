//! When the rejection of a pod is published whose controller makes another one in its place.
//!
//! A controller replaces a failed pod at once, and the scheduler, which doesn't know why the pod failed, may choose the same node
//! again. So each further rejection for the same controller waits longer than the last. Meanwhile the pod is pending and counts
//! as one of the controller's, which makes no other.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::container::backoff::BackoffPolicy;
use crate::node::whole_seconds;
use crate::pod::controller;
use crate::pod::static_pod::is_static;

#[cfg(test)]
mod tests;

/// How long rejections for one controller wait, from the second one on.
pub const DELAY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(1), max: Duration::from_secs(300) };

/// So many controllers are remembered. A further one takes the place of the one that would be forgotten first.
pub const OWNERS_MAX: usize = 1024;

/// Reason of a pod whose rejection waits.
pub const REASON: &str = "RejectionDelayed";

/// How long the nth rejection for one controller waits; the first is published at once.
pub fn delay(nth: u32) -> Duration {
    match nth {
        0 | 1 => Duration::ZERO,
        _ => DELAY.after(nth - 1),
    }
}

/// The controller whose rejections this one counts among; none if it is published at once. `handler` is the configured handler
/// that rejected the pod, if one did.
///
/// What a kubelet would reject, too, is published as a kubelet does it. A pod that no API server brought, or that no controller
/// made, has no replacement.
pub fn counts_for<'a>(pod: &'a Pod, handler: Option<&str>) -> Option<&'a OwnerReference> {
    if handler.is_none() || is_static(pod) {
        return None;
    }
    controller(pod)
}

/// A rejection among those for its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedRejection {
    /// Its number, from 1 on.
    pub nth: u32,
    /// How long it waits.
    pub delay: Duration,
}

/// The rejections for each controller on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectionHistory {
    owners: HashMap<String, OwnerRejections>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnerRejections {
    count: u32,
    /// When the last of them is published.
    published_at: Duration,
}

impl OwnerRejections {
    /// There was none for twice the longest delay: the next one is the first again.
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.published_at) >= DELAY.reset_after()
    }
}

impl RejectionHistory {
    /// Counts a rejection for the controller with this UID. `now` is the time since a fixed point, of a clock that isn't set; if it
    /// jumps all the same, a delay is at most the longest one, and a controller may be forgotten early or late.
    pub fn note(&mut self, owner_uid: &str, now: Duration) -> NotedRejection {
        let before = self.owners.get(owner_uid).filter(|owner| !owner.is_over(now));
        let nth = before.map_or(0, |owner| owner.count).saturating_add(1);
        let delay = delay(nth);
        if !self.owners.contains_key(owner_uid) && self.owners.len() >= OWNERS_MAX {
            self.free_capacity(now);
        }
        let noted = OwnerRejections { count: nth, published_at: now.saturating_add(delay) };
        self.owners.insert(owner_uid.to_owned(), noted);
        NotedRejection { nth, delay }
    }

    /// Forgets controllers without a rejection for long, or the one of them that has been without for longest.
    fn free_capacity(&mut self, now: Duration) {
        self.owners.retain(|_, owner| !owner.is_over(now));
        if self.owners.len() < OWNERS_MAX {
            return;
        }
        let first = self.owners.iter().min_by_key(|(uid, owner)| (owner.published_at, *uid));
        if let Some(uid) = first.map(|(uid, _)| uid.clone()) {
            self.owners.remove(&uid);
        }
    }
}

/// Returns what the status of a pod says whose rejection waits: who rejected it and why, when that is published, and why not now.
pub fn message(
    handler: &str,
    (reason, message): (&str, &str),
    (owner, nth): (&OwnerReference, u32),
    published_at: Timestamp,
) -> String {
    let OwnerReference { kind, name, .. } = owner;
    format!(
        "Admission handler {handler} rejected the pod: {reason}: {message}. The pod fails at {}, because this is rejection \
         {nth} of pods of {kind} {name} on this node",
        whole_seconds(published_at)
    )
}

//! Annotates each pod with the time at which this agent first saw it, before it is shared: a later write would need a copy of
//! the pod.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::static_pod::{first_seen, is_mirror, set_first_seen};

use super::shrink::shrink_pod;
use crate::watch::Change;

#[cfg(test)]
mod tests;

/// The times at which pods were seen, by UID.
pub(super) fn times(pods: &[Arc<Pod>]) -> HashMap<String, String> {
    let time = |pod: &Arc<Pod>| Some((pod.metadata.uid.clone()?, first_seen(pod)?.to_owned()));
    pods.iter().filter_map(time).collect()
}

/// The change with times in its pods: those that `before` gives by UID, and `now` for pods that it doesn't know.
pub(super) fn stamped(
    change: Change<Pod>,
    before: impl Fn(&str) -> Option<String>,
    now: Timestamp,
) -> Change<Pod> {
    match change {
        Change::Put(pod) => Change::Put(stamp(pod, &before, now)),
        Change::Replaced { objects, malformed } => {
            let objects = objects.into_iter().map(|pod| stamp(pod, &before, now)).collect();
            Change::Replaced { objects, malformed }
        }
        other @ (Change::Deleted(_)
        | Change::Malformed(_)
        | Change::Disconnected(_)
        | Change::Connected
        | Change::Unread(_)) => other,
    }
}

/// A mirror pod repeats what its static pod has, and stays as it is.
pub(super) fn stamp(mut pod: Arc<Pod>, before: impl Fn(&str) -> Option<String>, now: Timestamp) -> Arc<Pod> {
    // No one else has it yet, so that nothing is copied.
    let own = Arc::make_mut(&mut pod);
    shrink_pod(own);
    if is_mirror(own) {
        return pod;
    }
    let uid = own.metadata.uid.as_deref().unwrap_or_default();
    let time = before(uid).unwrap_or_else(|| now.to_string());
    set_first_seen(own, time);
    pod
}

//! What is remembered of a pod from one piece of work to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::image::ImageHolds;
use witlet_core::cgroup::PodCgroup;
use witlet_core::container::backoff::{BackoffTable, CRASH, IMAGE_PULL};
use witlet_core::container::plan::containers;
use witlet_core::container::plan::resize::Actuated;
use witlet_core::image::with_default_tag;
use witlet_core::runtime::{ContainerRunState, ObservedPod};
use witlet_core::status::Waiting;
use witlet_core::volume::Fingerprint;

use crate::cache::Stamp;

#[cfg(test)]
mod tests;

/// It travels with the work, for at most one runs at a time.
#[derive(Clone, Debug)]
pub(crate) struct PodMemory {
    /// Delays of crashed containers.
    pub(crate) restarts: BackoffTable,
    /// Delays of failed pulls.
    pub(crate) pulls: BackoffTable,
    /// Last failed pull of each image.
    pub(crate) failed_pulls: BTreeMap<String, PullFailure>,
    /// Pulls that succeeded in this piece of work: from when until when.
    pub(crate) pulled: Vec<(Timestamp, Timestamp)>,
    /// Containers whose images weren't admitted.
    pub(crate) image_holds: ImageHolds,
    /// Why containers that should run don't, as far as no check of the runtime can tell.
    pub(crate) waiting: BTreeMap<String, Waiting>,
    /// Volumes as they were set up last, with their paths on the host. One without a fingerprint is as an earlier life of the
    /// agent left it.
    pub(crate) volumes: BTreeMap<String, (Option<Fingerprint>, PathBuf)>,
    /// What running containers were last given.
    pub(crate) actuated: Actuated,
    /// Why the last try to change resources failed; none if it didn't.
    pub(crate) resize_error: Option<String>,
    /// What the pod's own cgroup had when the pod was checked last; none if it has none, or nothing runs.
    pub(crate) pod_cgroup: Option<PodCgroup>,
    /// The pod's own cgroup was made or set in this life of the agent.
    pub(crate) cgroup_ensured: bool,
    /// Whether resources were being changed when the pod was checked last.
    pub(crate) resizing: bool,
    /// Containers that could not be made or started. The runtime's news of a failed start must not start the next one.
    failed_starts: BTreeMap<String, FailedStart>,
    /// Restart counts, read from the logs, of containers that the runtime had none of at the first sync; none before.
    pub(crate) logged_restarts: Option<BTreeMap<String, u32>>,
    /// It waits for the disk, and that was reported.
    pub(crate) is_unsaved: bool,
    /// When something was last done to the pod: only a check begun later shows it.
    pub(crate) acted: Stamp,
}

/// A pull that failed.
#[derive(Clone, Debug)]
pub(crate) struct PullFailure {
    pub(crate) at: Timestamp,
    /// Reason and message, as the status goes on saying them while the delay lasts.
    pub(crate) message: String,
}

#[cfg(test)]
impl PullFailure {
    pub(crate) fn at(at: Timestamp) -> Self {
        Self { at, message: String::new() }
    }
}

#[derive(Clone, Debug)]
struct FailedStart {
    /// Of the container as it was tried.
    hash: String,
    retry_at: Timestamp,
}

impl PodMemory {
    pub(crate) fn new() -> Self {
        Self {
            restarts: BackoffTable::new(CRASH),
            pulls: BackoffTable::new(IMAGE_PULL),
            failed_pulls: BTreeMap::new(),
            pulled: Vec::new(),
            image_holds: ImageHolds::default(),
            waiting: BTreeMap::new(),
            volumes: BTreeMap::new(),
            actuated: Actuated::new(),
            resize_error: None,
            pod_cgroup: None,
            cgroup_ensured: false,
            resizing: false,
            failed_starts: BTreeMap::new(),
            logged_restarts: None,
            is_unsaved: false,
            acted: Stamp::default(),
        }
    }

    /// Forgets what the pod's spec no longer has, containers that run no more and delays that are over, so that a pod that
    /// is edited again and again isn't remembered in all its versions.
    pub(crate) fn prune(&mut self, pod: &Pod, observed: &ObservedPod, now: Timestamp) {
        let (mut names, mut images) = (BTreeSet::new(), BTreeSet::new());
        for found in containers(pod) {
            names.insert(found.container.name.clone());
            images.extend(found.container.image.as_deref().and_then(|image| with_default_tag(image).ok()));
        }
        self.waiting.retain(|name, _| names.contains(name));
        self.failed_starts.retain(|name, _| names.contains(name));
        self.image_holds.retain(|name| names.contains(name));
        self.failed_pulls.retain(|image, _| images.contains(image));
        self.actuated.retain(|id, _| {
            observed.containers.iter().any(|c| c.id == *id && c.state != ContainerRunState::Exited)
        });
        self.restarts.collect_garbage(now);
        self.pulls.collect_garbage(now);
    }

    /// The container of this hash could not be made or started, and is left alone for a while.
    pub(crate) fn start_failed(&mut self, name: &str, hash: String, now: Timestamp, retry: SignedDuration) {
        let retry_at = now.saturating_add(retry).unwrap_or(Timestamp::MAX);
        self.failed_starts.insert(name.to_owned(), FailedStart { hash, retry_at });
    }

    /// Until when the container of this hash is left alone. A time further off than `retry` is of before the clock was
    /// set back, and doesn't count.
    pub(crate) fn left_alone_until(
        &self,
        name: &str,
        hash: &str,
        now: Timestamp,
        retry: SignedDuration,
    ) -> Option<Timestamp> {
        let failed = self.failed_starts.get(name).filter(|failed| failed.hash == hash)?;
        let wait = failed.retry_at.duration_since(now);
        (wait.is_positive() && wait <= retry).then_some(failed.retry_at)
    }

    /// The container runs.
    pub(crate) fn started(&mut self, name: &str) {
        self.waiting.remove(name);
        self.failed_starts.remove(name);
    }
}

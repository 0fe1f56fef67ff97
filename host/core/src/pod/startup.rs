//! How long pods take to start, as monitoring counts it (upstream: `util/pod_startup_latency_tracker.go`, which follows the SLI of
//! sig-scalability).

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus, Volume};

#[cfg(test)]
mod tests;

/// How long images of a pod were pulled, several at the same time counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullTime {
    total: SignedDuration,
    until: Option<Timestamp>,
}

impl PullTime {
    /// A pull that ended, in the order of their ends.
    pub fn add(&mut self, from: Timestamp, to: Timestamp) {
        let from = self.until.map_or(from, |until| until.max(from));
        if to > from {
            self.total += to.duration_since(from);
            self.until = Some(to);
        }
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> SignedDuration {
        self.total
    }
}

/// How long a pod took to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartLatency {
    /// From its creation until all its containers run.
    pub total: SignedDuration,
    /// The same without pulls and init containers; none of a pod that waits for volumes of others.
    pub sli: Option<SignedDuration>,
    /// It has a network of its own.
    pub has_network: bool,
}

/// Whether the start of a pod that the node sees for the first time counts: it hasn't been here before, and didn't wait for capacity.
pub fn is_tracked(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let waits = |condition: &PodCondition| condition.type_ == "PodScheduled" && condition.status == "False";
    status.is_none_or(|status| status.start_time.is_none()) && !conditions.into_iter().any(waits)
}

/// How long the pod took until `now`, when the API server knows this status; none while a container doesn't run yet.
pub fn start_latency(pod: &Pod, status: &PodStatus, pulls: PullTime, now: Timestamp) -> Option<StartLatency> {
    let created = pod.metadata.creation_timestamp.as_ref()?.0;
    let containers = status.container_statuses.as_deref().filter(|containers| !containers.is_empty())?;
    if !containers.iter().all(has_started) {
        return None;
    }
    let total = now.duration_since(created);
    let init = status.init_container_statuses.iter().flatten().filter_map(run_time);
    let init = init.fold(SignedDuration::ZERO, |sum, took| sum + took);
    let spec = pod.spec.as_ref();
    let volumes = spec.and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    Some(StartLatency {
        total,
        sli: volumes.iter().all(is_ephemeral).then(|| total - pulls.total() - init),
        has_network: !spec.and_then(|spec| spec.host_network).unwrap_or(false),
    })
}

fn has_started(container: &ContainerStatus) -> bool {
    let running = container.state.as_ref().and_then(|state| state.running.as_ref());
    running.is_some_and(|running| running.started_at.is_some())
}

/// Returns how long a terminated init container ran.
fn run_time(container: &ContainerStatus) -> Option<SignedDuration> {
    let ended = container.state.as_ref()?.terminated.as_ref()?;
    let took = ended.finished_at.as_ref()?.0.duration_since(ended.started_at.as_ref()?.0);
    (took > SignedDuration::ZERO).then_some(took)
}

fn is_ephemeral(volume: &Volume) -> bool {
    volume.secret.is_some()
        || volume.config_map.is_some()
        || volume.downward_api.is_some()
        || volume.empty_dir.is_some()
        || volume.projected.is_some()
}

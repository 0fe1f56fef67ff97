//! The probe manager: one task for all probes of all pods, upstream's `prober/prober_manager.go`.
//!
//! What a probe does next is decided by `witlet_core::probe::worker`. The task keeps the times, carries the probes out and
//! keeps the results where all read them without waiting. Changes of results are reported over a bounded
//! channel; while they aren't read, only the newest of each probe is kept.

mod attempt;
mod latest;
mod manager;
mod series;
mod shared;
mod slots;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use tokio::sync::mpsc;
use witlet_core::pod::PodUid;
use witlet_core::probe::desired::desired_probes;
use witlet_core::probe::{ProbeKind, ProbeResults};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{MetricsSource, ProbeReport, ProbeTotals};

use crate::pod_status_store::PodStatusStore;
use manager::Manager;
use shared::Shared;

pub use shared::PROBES_AT_ONCE_MAX;
pub(crate) use shared::{PodStatuses, ProbeUpdate, ProberPorts};

#[cfg(test)]
mod tests;

impl PodStatuses for PodStatusStore {
    fn status(&self, uid: &PodUid) -> Option<Arc<PodStatus>> {
        PodStatusStore::status(self, uid)
    }
}

/// Tells the probe manager what to probe, and shows results. Nothing here waits. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ProberHandle {
    shared: Arc<Shared>,
}

impl ProberHandle {
    /// The probe manager of this handle, to be run, and where changed results come out. Its making counts as the start of the agent.
    pub(crate) fn manager(
        &self,
        ports: ProberPorts,
        updates_max: usize,
    ) -> (Manager, mpsc::Receiver<ProbeUpdate>) {
        let (sender, updates) = mpsc::channel(updates_max);
        (Manager::new(ports, self.shared.clone(), sender), updates)
    }

    /// Probes what this pod's spec has probes for, its containers and sidecars, as its annotations say. To be called
    /// whenever the pod is synced: what is probed already goes on, what is to be checked in another way begins again, what
    /// the spec doesn't have any more ends, and a probe that had ended with a container that wasn't to be restarted begins
    /// again once there is another instance.
    pub(crate) fn add_pod(&self, pod: &Arc<Pod>) {
        let has_changed = self.shared.lock().revive_pod(pod);
        // Annotations are read without the lock.
        let has_changed = has_changed.unwrap_or_else(|| {
            let desired = desired_probes(pod);
            self.shared.lock().take_pod(pod, desired)
        });
        if has_changed {
            self.shared.wake.notify_one();
        }
    }

    /// The pod ends: its liveness and startup probes count as passed and stop, its readiness probes go on.
    pub(crate) fn stop_liveness_and_startup(&self, uid: &PodUid) {
        self.shared.lock().stop_liveness_and_startup(uid);
    }

    /// Ends all probes of the pod and forgets their results.
    pub(crate) fn remove_pod(&self, uid: &PodUid) {
        self.shared.lock().remove_pod(uid);
    }

    /// Ends all probes of pods that aren't known.
    pub(crate) fn clean_up(&self, is_known: impl Fn(&PodUid) -> bool) {
        self.shared.lock().retain_pods(is_known);
    }

    /// Probes readiness at once, out of turn: a container has started but isn't ready yet, and its status is being
    /// made. Nothing happens if it has no such probe.
    pub(crate) fn probe_readiness_now(&self, uid: &PodUid, container: &str) {
        if self.shared.lock().trigger(uid, container, ProbeKind::Readiness) {
            self.shared.wake.notify_one();
        }
    }

    /// Probes since the agent began.
    pub(crate) fn totals(&self) -> ProbeTotals {
        self.shared.lock().totals()
    }

    /// Returns what is known of the pod's probes, for people who check the pod.
    pub(crate) fn reports(&self, uid: &PodUid) -> Vec<ProbeReport> {
        self.shared.lock().reports(uid)
    }

    /// The results of the pod's probes so far.
    pub(crate) fn results(&self, uid: &PodUid) -> Arc<ProbeResults> {
        self.shared.lock().results(uid)
    }
}

/// Of each probe; those of a container go with its probes.
impl MetricsSource for ProberHandle {
    fn write(&self, to: &mut Exposition) {
        let (all, durations) = {
            let slots = self.shared.lock();
            (slots.series(), slots.durations())
        };
        series::write(&all, &durations, to);
    }
}

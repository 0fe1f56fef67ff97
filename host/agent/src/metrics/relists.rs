//! What is counted of the lists of the runtime's pods, and what they show.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use witlet_core::runtime::{ContainerRunState, RuntimePod, SandboxState};
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{DEFAULT_BUCKETS, Histograms, MetricsSource as _};

/// Counts lists.
pub(crate) struct RelistMetrics {
    durations: Histograms<0>,
    intervals: Histograms<0>,
    inspections: Histograms<0>,
    newest: Mutex<Option<(Timestamp, Arc<Vec<RuntimePod>>)>>,
}

impl Default for RelistMetrics {
    fn default() -> Self {
        Self {
            durations: Histograms::new(
                "kubelet_pleg_relist_duration_seconds",
                "[ALPHA] Duration in seconds for relisting pods in PLEG.",
                [],
                DEFAULT_BUCKETS,
            ),
            intervals: Histograms::new(
                "kubelet_pleg_relist_interval_seconds",
                "[ALPHA] Interval in seconds between relisting in PLEG.",
                [],
                DEFAULT_BUCKETS,
            ),
            inspections: Histograms::new(
                "kubelet_pleg_pod_relist_duration_seconds",
                "[ALPHA] Duration in seconds for relisting a single pod in PLEG.",
                [],
                DEFAULT_BUCKETS,
            ),
            newest: Mutex::default(),
        }
    }
}

impl RelistMetrics {
    /// A list begins, so long after the last one that succeeded.
    pub(crate) fn begun(&self, after: Duration) {
        self.intervals.observe_duration([], after);
    }

    /// A list ended, whether it succeeded or not.
    pub(crate) fn ended(&self, took: Duration) {
        self.durations.observe_duration([], took);
    }

    /// A check of one pod ended, whether it succeeded or not.
    pub(crate) fn inspected(&self, took: Duration) {
        self.inspections.observe_duration([], took);
    }

    /// Records a successful relist: when it began, and its pods.
    pub(crate) fn listed(&self, at: Timestamp, pods: Arc<Vec<RuntimePod>>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, pods));
    }

    pub(super) fn write(&self, to: &mut Exposition) {
        self.durations.write(to);
        self.intervals.write(to);
        self.inspections.write(to);
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((at, pods)) = newest else { return };
        let help = "[ALPHA] Timestamp in seconds when PLEG was last seen active.";
        to.gauge("kubelet_pleg_last_seen_seconds", help, at.as_second() as f64);
        let runs = |pod: &&RuntimePod| pod.sandboxes.iter().any(|of| of.state == SandboxState::Ready);
        let help = "[ALPHA] Number of pods that have a running pod sandbox";
        to.gauge("kubelet_running_pods", help, pods.iter().filter(runs).count() as f64);
        let mut family = to.family(
            "kubelet_running_containers",
            "[ALPHA] Number of containers currently running",
            Kind::Gauge,
        );
        for (label, state) in [
            ("created", ContainerRunState::Created),
            ("exited", ContainerRunState::Exited),
            ("running", ContainerRunState::Running),
            ("unknown", ContainerRunState::Unknown),
        ] {
            let containers = pods.iter().flat_map(|pod| &pod.containers);
            let count = containers.filter(|container| container.state == state).count();
            family.sample(&[("container_state", label)], count as f64);
        }
    }
}

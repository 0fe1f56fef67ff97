//! What is counted of the work on pods.

use std::time::Duration;

use witlet_core::container::plan::ContainerKind;
use witlet_core::pod::worker::{Task, UpdateKind};
use witlet_core::stats::exposition::Exposition;
use witlet_core::status::WaitingReason;
use witlet_ports::{Counters, DEFAULT_BUCKETS, Durations};

/// Upper bounds in seconds for the starts of pods (upstream: `podStartupDurationBuckets`).
const START_BUCKETS: &[f64] = &[
    0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0,
    480.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0,
];

/// Counts the work on pods.
pub(crate) struct PodMetrics {
    work: Durations<1>,
    starts: Durations<0>,
    sandboxes: Counters<0>,
    sandbox_errors: Counters<0>,
    containers: Counters<1>,
    container_errors: Counters<2>,
}

impl Default for PodMetrics {
    fn default() -> Self {
        Self {
            work: Durations::new(["operation_type"], DEFAULT_BUCKETS),
            starts: Durations::new([], START_BUCKETS),
            sandboxes: Counters::new([]),
            sandbox_errors: Counters::new([]),
            containers: Counters::new(["container_type"]),
            container_errors: Counters::new(["code", "container_type"]),
        }
    }
}

impl PodMetrics {
    /// A piece of a pod's work ended, which an update of this kind had asked for.
    pub(crate) fn worked(&self, task: Task, kind: UpdateKind, took: Duration) {
        let operation = match (task, kind) {
            (Task::Settle, _) => "terminated",
            (Task::Sync, UpdateKind::Create) => "create",
            (Task::Sync, UpdateKind::Update) => "update",
            (Task::Sync, UpdateKind::Sync | UpdateKind::Kill) => "sync",
            (Task::Terminate { .. }, _) => "kill",
        };
        self.work.observe([operation], took);
    }

    /// A pod runs, so long after the agent saw it first.
    pub(crate) fn runs(&self, after: Duration) {
        self.starts.observe([], after);
    }

    /// A sandbox was made for a pod, or could not be.
    pub(crate) fn sandbox(&self, is_made: bool) {
        self.sandboxes.add([]);
        if !is_made {
            self.sandbox_errors.add([]);
        }
    }

    /// A container is about to be started.
    pub(crate) fn container_starts(&self, kind: ContainerKind) {
        self.containers.add([container_type(kind)]);
    }

    /// It could not be.
    pub(crate) fn container_failed(&self, kind: ContainerKind, reason: WaitingReason) {
        self.container_errors.add([reason.as_str(), container_type(kind)]);
    }

    pub(super) fn write(&self, to: &mut Exposition) {
        let help = "[ALPHA] How long the work on a pod took";
        self.work.write(to, "kubelet_pod_worker_duration_seconds", help);
        let help = "[ALPHA] How long it took until a pod ran after it was first seen";
        self.starts.write(to, "kubelet_pod_start_duration_seconds", help);
        self.sandboxes.write(to, "kubelet_started_pods_total", "[ALPHA] Sandboxes of pods that were started");
        let help = "[ALPHA] Sandboxes of pods that could not be started";
        self.sandbox_errors.write(to, "kubelet_started_pods_errors_total", help);
        let help = "[ALPHA] Containers that were started";
        self.containers.write(to, "kubelet_started_containers_total", help);
        let help = "[ALPHA] Containers that could not be started, by the reason why they wait";
        self.container_errors.write(to, "kubelet_started_containers_errors_total", help);
    }
}

/// A sidecar is an init container, as upstream counts it.
fn container_type(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::Init | ContainerKind::Sidecar => "init_container",
        ContainerKind::App => "container",
        ContainerKind::Ephemeral => "ephemeral_container",
    }
}

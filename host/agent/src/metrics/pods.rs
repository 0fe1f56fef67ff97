//! What is counted of the work on pods, a family in each row.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::{ContainerKind, app_containers};
use witlet_core::pod::worker::{Task, UpdateKind};
use witlet_core::stats::exposition::Exposition;
use witlet_core::status::{Termination, WaitingReason};
use witlet_ports::{Counters, DEFAULT_BUCKETS, Gauge, Histograms, MetricsSource};

use super::volumes::VolumeMetrics;

/// Upper bounds in seconds for the starts of pods (upstream: `podStartupDurationBuckets`).
const START_BUCKETS: &[f64] = &[
    0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0,
    480.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0,
];
/// Upper bounds for numbers of containers.
const CONTAINER_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0];

/// Counts the work on pods.
#[derive(Default)]
pub(crate) struct PodMetrics {
    work: WorkMetrics,
    sandboxes: SandboxMetrics,
    containers: ContainerMetrics,
    clean_up: CleanUpMetrics,
    pub(crate) volumes: VolumeMetrics,
}

/// Families of the work on pods.
struct WorkMetrics {
    durations: Histograms<1>,
    begins: Histograms<0>,
    starts: Histograms<0>,
    containers: Histograms<0>,
    restarted: Counters<1>,
    orphaned: Counters<0>,
}

/// Families of sandboxes.
struct SandboxMetrics {
    started: Counters<0>,
    errors: Counters<0>,
    user_namespaced: Counters<0>,
    user_namespaced_errors: Counters<0>,
    runs: Histograms<1>,
    run_errors: Counters<1>,
}

/// Families of containers and of their hooks.
struct ContainerMetrics {
    started: Counters<1>,
    errors: Counters<2>,
    terminations: Counters<3>,
    http_fallbacks: Counters<0>,
    sleeps_cut: Counters<0>,
}

/// Families of the clean-up.
struct CleanUpMetrics {
    cleaned: Gauge,
    uncleaned: Gauge,
}

impl Default for WorkMetrics {
    fn default() -> Self {
        Self {
            durations: Histograms::new(
                "kubelet_pod_worker_duration_seconds",
                "[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: \
                 create, update, or sync",
                ["operation_type"],
                DEFAULT_BUCKETS,
            ),
            begins: Histograms::new(
                "kubelet_pod_worker_start_duration_seconds",
                "[ALPHA] Duration in seconds from kubelet seeing a pod to starting a worker.",
                [],
                DEFAULT_BUCKETS,
            ),
            starts: Histograms::new(
                "kubelet_pod_start_duration_seconds",
                "[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod \
                 starting to run",
                [],
                START_BUCKETS,
            ),
            containers: Histograms::new(
                "kubelet_containers_per_pod_count",
                "[ALPHA] The number of containers per pod.",
                [],
                CONTAINER_BUCKETS,
            ),
            restarted: Counters::new(
                "kubelet_restarted_pods_total",
                "[ALPHA] Number of pods that have been restarted because they were deleted and \
                 recreated with the same UID while the kubelet was watching them (common for static \
                 pods, extremely uncommon for API pods)",
                ["static"],
            )
            // Each of upstream's clean-ups adds what it restarted to both, mostly nothing.
            .from_zero([[""], ["true"]]),
            orphaned: Counters::new(
                "kubelet_orphaned_runtime_pods_total",
                "[ALPHA] Number of pods that have been detected in the container runtime without \
                 being already known to the pod worker. This typically indicates the kubelet was \
                 restarted while a pod was force deleted in the API or in the local configuration, \
                 which is unusual.",
                [],
            ),
        }
    }
}

impl Default for SandboxMetrics {
    fn default() -> Self {
        Self {
            started: Counters::new(
                "kubelet_started_pods_total",
                "[ALPHA] Cumulative number of pods started",
                [],
            ),
            errors: Counters::new(
                "kubelet_started_pods_errors_total",
                "[ALPHA] Cumulative number of errors when starting pods",
                [],
            ),
            user_namespaced: Counters::new(
                "kubelet_started_user_namespaced_pods_total",
                "[ALPHA] Cumulative number of pods with user namespaces started. This metric will \
                 only be collected on Linux.",
                [],
            ),
            user_namespaced_errors: Counters::new(
                "kubelet_started_user_namespaced_pods_errors_total",
                "[ALPHA] Cumulative number of errors when starting pods with user namespaces. This \
                 metric will only be collected on Linux.",
                [],
            ),
            runs: Histograms::new(
                "kubelet_run_podsandbox_duration_seconds",
                "[ALPHA] Duration in seconds of the run_podsandbox operations. Broken down by \
                 RuntimeClass.Handler.",
                ["runtime_handler"],
                DEFAULT_BUCKETS,
            ),
            run_errors: Counters::new(
                "kubelet_run_podsandbox_errors_total",
                "[ALPHA] Cumulative number of the run_podsandbox operation errors by \
                 RuntimeClass.Handler.",
                ["runtime_handler"],
            ),
        }
    }
}

impl Default for ContainerMetrics {
    fn default() -> Self {
        Self {
            started: Counters::new(
                "kubelet_started_containers_total",
                "[ALPHA] Cumulative number of containers started",
                ["container_type"],
            ),
            errors: Counters::new(
                "kubelet_started_containers_errors_total",
                "[ALPHA] Cumulative number of errors when starting containers",
                ["code", "container_type"],
            ),
            terminations: Counters::new(
                "kubelet_terminated_containers_total",
                "[ALPHA] Cumulative number of container terminations.",
                ["container_type", "exit_code", "reason"],
            ),
            http_fallbacks: Counters::new(
                "kubelet_lifecycle_handler_http_fallbacks_total",
                "[ALPHA] The number of times lifecycle handlers successfully fell back to http from \
                 https.",
                [],
            ),
            sleeps_cut: Counters::new(
                "kubelet_sleep_action_terminated_early_total",
                "[ALPHA] The number of times lifecycle sleep handler got terminated before it finishes",
                [],
            ),
        }
    }
}

impl Default for CleanUpMetrics {
    fn default() -> Self {
        Self {
            cleaned: Gauge::new(
                "kubelet_orphan_pod_cleaned_volumes",
                "[ALPHA] The total number of orphaned Pods whose volumes were cleaned in the last \
                 periodic sweep.",
            ),
            uncleaned: Gauge::new(
                "kubelet_orphan_pod_cleaned_volumes_errors",
                "[ALPHA] The number of orphaned Pods whose volumes failed to be cleaned in the last \
                 periodic sweep.",
            ),
        }
    }
}

impl MetricsSource for PodMetrics {
    fn write(&self, to: &mut Exposition) {
        let Self { work, sandboxes, containers, clean_up, volumes } = self;
        let families: [&dyn MetricsSource; 20] = [
            &work.durations,
            &work.begins,
            &work.starts,
            &work.containers,
            &work.restarted,
            &work.orphaned,
            &sandboxes.started,
            &sandboxes.errors,
            &sandboxes.user_namespaced,
            &sandboxes.user_namespaced_errors,
            &sandboxes.runs,
            &sandboxes.run_errors,
            &containers.started,
            &containers.errors,
            &containers.terminations,
            &containers.http_fallbacks,
            &containers.sleeps_cut,
            &clean_up.cleaned,
            &clean_up.uncleaned,
            volumes,
        ];
        families.into_iter().for_each(|family| family.write(to));
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
        self.work.durations.observe_duration([operation], took);
    }

    /// The first piece of a pod's work begins, and the pod was seen then.
    pub(crate) fn work_begins(&self, pod: &Pod, seen: Option<Timestamp>, now: Timestamp) {
        self.work.containers.observe([], app_containers(pod).len() as f64);
        if let Some(seen) = seen {
            self.work.begins.observe([], now.duration_since(seen).as_secs_f64().max(0.0));
        }
    }

    /// A pod runs, so long after the agent saw it first.
    pub(crate) fn runs(&self, after: Duration) {
        self.work.starts.observe_duration([], after);
    }

    /// A pod came back with the UID of one that had ended.
    pub(crate) fn restarts(&self, is_static: bool) {
        self.work.restarted.add([if is_static { "true" } else { "" }]);
    }

    /// A pod runs that wasn't known.
    pub(crate) fn is_orphaned(&self) {
        self.work.orphaned.add([]);
    }

    /// A sandbox was made for a pod, or could not be.
    pub(crate) fn sandbox(&self, is_made: bool) {
        self.sandboxes.started.add([]);
        if !is_made {
            self.sandboxes.errors.add([]);
        }
    }

    /// A sync began with a sandbox for a pod with a user namespace, and ended.
    pub(crate) fn user_namespaced(&self, has_failed: bool) {
        self.sandboxes.user_namespaced.add([]);
        if has_failed {
            self.sandboxes.user_namespaced_errors.add([]);
        }
    }

    /// The runtime ran a sandbox with this handler of its, or could not.
    pub(crate) fn sandbox_ran(&self, handler: &str, took: Duration, has_failed: bool) {
        self.sandboxes.runs.observe_duration([handler], took);
        if has_failed {
            self.sandboxes.run_errors.add([handler]);
        }
    }

    /// A container is about to be started.
    pub(crate) fn container_starts(&self, kind: ContainerKind) {
        self.containers.started.add([container_type(kind)]);
    }

    /// Counts a container that failed to start, by its waiting reason.
    pub(crate) fn container_failed(&self, kind: ContainerKind, reason: WaitingReason) {
        self.containers.errors.add([reason.as_str(), container_type(kind)]);
    }

    /// A container ended.
    pub(crate) fn terminated(&self, termination: &Termination) {
        let Termination { container_type, exit_code, reason } = termination;
        self.containers.terminations.add([container_type, &exit_code.to_string(), reason]);
    }

    /// A hook's request was sent in the clear.
    pub(crate) fn hook_fell_back(&self) {
        self.containers.http_fallbacks.add([]);
    }

    /// A hook slept, and was cut short.
    pub(crate) fn sleep_was_cut(&self) {
        self.containers.sleeps_cut.add([]);
    }

    /// A clean-up checked the folders of so many pods that are gone, and so many of them stay.
    pub(crate) fn cleaned_up(&self, checked: usize, stay: usize) {
        self.clean_up.cleaned.set(checked as f64);
        self.clean_up.uncleaned.set(stay as f64);
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

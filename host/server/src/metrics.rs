//! Metrics of this process: the agent's own, and those of registered sources.

use std::sync::{Arc, PoisonError, RwLock};

use axum::http::HeaderMap;
use axum::response::Response;
use k8s_openapi::api::core::v1::Node;
use witlet_core::cgroup::CgroupVersion;
use witlet_core::node::KUBERNETES_VERSION;
use witlet_core::pod::working::WorkingPod;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{
    AgentStats, AgentView, CgroupDurations, CgroupStats, Histogram, ImageRemovals, MetricsSource, ProbeTotals,
};

use crate::expositions::Expositions;
pub(crate) use crate::expositions::negotiated;

/// A kubelet of this version doesn't run on a runtime that has no `RuntimeConfig` (upstream: `getCgroupDriverFromCRI`).
const NAMED_DRIVER_SINCE: &str = "1.37.0";

/// All metrics of this process: a server of them has a clone.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Shared>);

#[derive(Default)]
struct Shared {
    sources: RwLock<Vec<Arc<dyn MetricsSource>>>,
    expositions: Expositions,
}

impl Metrics {
    /// The agent's own.
    pub(crate) fn of_agent(agent: Arc<dyn AgentView>) -> Self {
        let metrics = Self::default();
        metrics.add(Arc::new(OfAgent(agent)));
        metrics
    }

    /// Shows these metrics, too.
    pub(crate) fn add(&self, source: Arc<dyn MetricsSource>) {
        self.0.sources.write().unwrap_or_else(PoisonError::into_inner).push(source);
    }

    /// Answers a request that has these headers.
    pub(crate) async fn answer(&self, headers: &HeaderMap) -> Response {
        let all = self.clone();
        self.0.expositions.answer(headers, move |to| all.write(to)).await
    }
}

impl MetricsSource for Metrics {
    fn write(&self, to: &mut Exposition) {
        let sources = self.0.sources.read().unwrap_or_else(PoisonError::into_inner).clone();
        sources.iter().for_each(|source| source.write(to));
    }
}

/// The agent's own metrics.
struct OfAgent(Arc<dyn AgentView>);

impl MetricsSource for OfAgent {
    fn write(&self, to: &mut Exposition) {
        let stats = self.0.stats();
        event_loop(to, &stats);
        let help = "1 while the agent is healthy";
        to.gauge("witlet_healthy", help, f64::from(u8::from(self.0.unhealthy().is_empty())));
        probes(to, &stats.probes);
        refusals(to, &stats);
        evictions(to, &stats);
        images(to, &stats.images_removed);
        pods(to, &stats);
        let node = self.0.node();
        node_name(to, &node);
        build_info(to, &node);
        cgroups(to, &stats.cgroups);
    }
}

fn event_loop(to: &mut Exposition, stats: &AgentStats) {
    let help = "Events that the event loop handled";
    to.counter("witlet_event_loop_events_total", help, stats.events_handled);
    let help = "The longest that the event loop spent on one event";
    to.gauge("witlet_event_loop_longest_pause_seconds", help, stats.longest_pause.as_secs_f64());
    to.gauge("witlet_admission_queue_pods", "Pods that wait for admission", stats.admission_queue as f64);
    to.gauge("witlet_blocked_pods", "Pods that a handler has deferred", stats.deferred as f64);
    let help = "Pods whose rejection waits for its time";
    to.gauge("witlet_waiting_rejections", help, stats.rejections_waiting as f64);
    let help = "Rejections that waited because others for the same controller were published before";
    to.counter("witlet_delayed_rejections_total", help, stats.rejections_delayed);
    let help = "1 once every source was seen";
    to.gauge("witlet_sources_ready", help, f64::from(u8::from(stats.sources_ready)));
    // A source that can be read isn't there.
    let help = "For how long the pods of a source can't be read";
    let mut family = to.family("witlet_source_unread_seconds", help, Kind::Gauge);
    for (source, unread) in &stats.unread_sources {
        family.sample(&[("source", source)], unread.as_secs_f64());
    }
    let help = "[ALPHA] The number of discard events in PLEG.";
    to.counter("kubelet_pleg_discard_events", help, stats.pleg_events_dropped);
}

/// Of all containers together, also of those that are gone, as `/metrics/probes` doesn't have them.
fn probes(to: &mut Exposition, totals: &ProbeTotals) {
    let mut family = to.family("witlet_probes_total", "Probes by kind and result", Kind::Counter);
    let kinds =
        [("Startup", &totals.startup), ("Readiness", &totals.readiness), ("Liveness", &totals.liveness)];
    for (kind, counts) in kinds {
        let results =
            [("successful", counts.successful), ("failed", counts.failed), ("unknown", counts.unknown)];
        for (result, count) in results {
            family.sample(&[("probe_type", kind), ("result", result)], count as f64);
        }
    }
}

fn refusals(to: &mut Exposition, stats: &AgentStats) {
    let help = "[ALPHA] Cumulative number pod admission rejections by the Kubelet.";
    let mut family = to.family("kubelet_admission_rejections_total", help, Kind::Counter);
    for (reason, count) in &stats.rejections {
        family.sample(&[("reason", reason)], *count as f64);
    }
    let help = "[ALPHA] Cumulative number of pod preemptions by preemption resource";
    let mut family = to.family("kubelet_preemptions", help, Kind::Counter);
    for (resource, count) in &stats.preemptions {
        family.sample(&[("preemption_signal", resource)], *count as f64);
    }
}

fn evictions(to: &mut Exposition, stats: &AgentStats) {
    let help = "[ALPHA] Cumulative number of pod evictions by eviction signal";
    let mut family = to.family("kubelet_evictions", help, Kind::Counter);
    for (signal, count) in &stats.evictions {
        family.sample(&[("eviction_signal", signal)], *count as f64);
    }
    let ages = stats.eviction_stats_ages.iter().map(|(signal, ages)| (*signal, ages));
    let help = "[ALPHA] Time between when stats are collected, and when pod is evicted based on those stats \
                by eviction signal";
    histograms(to, "kubelet_eviction_stats_age_seconds", help, "eviction_signal", ages);
}

fn pods(to: &mut Exposition, stats: &AgentStats) {
    let active = "[ALPHA] The number of pods the kubelet considers active and which are being considered \
                  when admitting new pods. static is true if the pod is not from the apiserver.";
    let desired = "[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod \
                   is not from the apiserver.";
    for (name, help, pods) in [
        ("kubelet_active_pods", active, stats.active_pods),
        ("kubelet_desired_pods", desired, stats.desired_pods),
    ] {
        let mut family = to.family(name, help, Kind::Gauge);
        for (is_static, count) in [("", pods.of_api_server), ("true", pods.of_node)] {
            family.sample(&[("static", is_static)], count as f64);
        }
    }
    let help = "[ALPHA] Number of pods the kubelet is actually running, broken down by lifecycle phase, \
                whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod \
                is static. An orphaned pod has been removed from local configuration or force deleted in \
                the API and consumes resources that are not otherwise visible.";
    let mut family = to.family("kubelet_working_pods", help, Kind::Gauge);
    for working in WorkingPod::all() {
        let count = stats.working_pods.get(&working).copied().unwrap_or_default();
        let WorkingPod { lifecycle, config, is_static } = working;
        let labels = [("config", config), ("lifecycle", lifecycle), ("static", is_static)];
        family.sample(&labels, count as f64);
    }
}

/// Rules of dashboards join other metrics with it.
fn node_name(to: &mut Exposition, node: &Node) {
    let help = "[ALPHA] The node's name. The count is always 1.";
    if let Some(name) = &node.metadata.name {
        to.family("kubelet_node_name", help, Kind::Gauge).sample(&[("node", name)], 1.0);
    }
}

/// As the node says which release it stands for. What only Go's builds have is empty.
fn build_info(to: &mut Exposition, node: &Node) {
    let Some(info) = node.status.as_ref().and_then(|status| status.node_info.as_ref()) else { return };
    let mut numbers = KUBERNETES_VERSION.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let platform = format!("{}/{}", info.operating_system, info.architecture);
    let labels = [
        ("build_date", ""),
        ("compiler", "rustc"),
        ("git_commit", ""),
        ("git_tree_state", ""),
        ("git_version", info.kubelet_version.as_str()),
        ("go_version", ""),
        ("major", major),
        ("minor", minor),
        ("platform", platform.as_str()),
    ];
    let help = "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, \
                git tree state, build date, Go version, and compiler from which Kubernetes was built, and \
                platform on which it is running.";
    to.family("kubernetes_build_info", help, Kind::Gauge).sample(&labels, 1.0);
}

/// What isn't known, or has no meaning here, isn't there.
fn cgroups(to: &mut Exposition, stats: &CgroupStats) {
    let version = stats.version.map(|version| match version {
        CgroupVersion::V1 => 1,
        CgroupVersion::V2 => 2,
    });
    let gauges: [(&str, &str, Option<i64>); 3] = [
        ("kubelet_cgroup_version", "[ALPHA] cgroup version on the hosts.", version),
        (
            "kubelet_memory_qos_node_memory_min_bytes",
            "[ALPHA] Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is \
             hard-reserved and never reclaimed by the kernel.",
            stats.kept_memory.map(|kept| kept.guaranteed),
        ),
        (
            "kubelet_memory_qos_node_memory_low_bytes",
            "[ALPHA] Total cgroup v2 memory.low in bytes for Burstable pods. This memory is \
             soft-reserved and may be reclaimed under extreme pressure.",
            stats.kept_memory.map(|kept| kept.burstable),
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            to.gauge(name, help, value as f64);
        }
    }
    if stats.runtime_names_no_driver {
        let help = "[ALPHA] the Kubernetes version that the currently running CRI implementation will lose \
                    support on if not upgraded.";
        let mut family = to.family("kubelet_cri_losing_support", help, Kind::Gauge);
        family.sample(&[("version", NAMED_DRIVER_SINCE)], 1.0);
    }
    let CgroupDurations { create, update, destroy } = &stats.durations;
    let durations = [("create", create), ("update", update), ("destroy", destroy)];
    let done = durations.into_iter().filter(|(_, durations)| durations.count() > 0);
    let help = "[ALPHA] Duration in seconds for cgroup manager operations. Broken down by method.";
    histograms(to, "kubelet_cgroup_manager_duration_seconds", help, "operation_type", done);
}

/// One histogram for each value of the label.
fn histograms<'a>(
    to: &mut Exposition,
    name: &str,
    help: &str,
    label: &str,
    of: impl Iterator<Item = (&'a str, &'a Histogram)>,
) {
    let mut family = to.family(name, help, Kind::Histogram);
    for (value, durations) in of {
        family.histogram(&[(label, value)], durations.buckets(), durations.sum());
    }
}

/// A reason that no image was removed for isn't there.
fn images(to: &mut Exposition, removed: &ImageRemovals) {
    let help = "[ALPHA] Total number of images garbage collected by the kubelet, whether through disk usage \
                or image age.";
    let mut family = to.family("kubelet_image_garbage_collected_total", help, Kind::Counter);
    for (reason, count) in [("age", removed.age), ("space", removed.space)] {
        if count > 0 {
            family.sample(&[("reason", reason)], count as f64);
        }
    }
}

//! Numbers as Prometheus reads them: the agent's own, and those of registered collectors.

use std::fmt::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use witlet_core::cgroup::CgroupVersion;
use witlet_ports::{
    ActivePods, AgentStats, AgentView, CgroupDurations, CgroupStats, DurationHistogram, ImageRemovals,
    ProbeTotals,
};

/// The form of the answer (OpenMetrics 1.0, which Prometheus reads).
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The largest answer; 16 plugins have 20 KB.
const METRICS_BYTES_MAX: usize = 16 << 20;

/// A kubelet of this version doesn't run on a runtime that has no `RuntimeConfig` (upstream: `getCgroupDriverFromCRI`).
const NAMED_DRIVER_SINCE: &str = "1.37.0";

/// All numbers of this process: a server of them has a clone.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<RwLock<Registry>>);

impl Metrics {
    /// The agent's own.
    pub(crate) fn of_agent(agent: Arc<dyn AgentView>) -> Self {
        let metrics = Self::default();
        metrics.add(Box::new(OfAgent(agent)));
        metrics
    }

    /// Shows these numbers, too.
    pub(crate) fn add(&self, collector: Box<dyn Collector>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).register_collector(collector);
    }

    /// As an answer to a request.
    pub(crate) fn answer(&self) -> Response {
        match text(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            Some(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
            None => {
                let words = format!("metrics must have at most {METRICS_BYTES_MAX} bytes");
                (StatusCode::INTERNAL_SERVER_ERROR, words).into_response()
            }
        }
    }
}

/// The answer; none if it would be too large.
pub(crate) fn text(registry: &Registry) -> Option<String> {
    let mut text = Bounded(String::new());
    encode(&mut text, registry).ok()?;
    Some(text.0)
}

struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > METRICS_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

/// The agent's own numbers.
struct OfAgent(Arc<dyn AgentView>);

impl fmt::Debug for OfAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfAgent").finish_non_exhaustive()
    }
}

impl Collector for OfAgent {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = self.0.stats();
        let mut counter = |name: &str, help: &str, value: u64| {
            encoder
                .encode_descriptor(name, help, None, MetricType::Counter)?
                .encode_counter::<NoLabelSet, _, f64>(&value, None)
        };
        counter("witlet_event_loop_events", "Events that the event loop handled", stats.events_handled)?;
        counter(
            "witlet_pleg_discard_events",
            "PLEG events that the event loop had no room for",
            stats.pleg_events_dropped,
        )?;
        let mut gauge = |name: &str, help: &str, value: f64| {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
        };
        gauge(
            "witlet_event_loop_longest_pause_seconds",
            "The longest that the event loop spent on one event",
            stats.longest_pause.as_secs_f64(),
        )?;
        gauge("witlet_admission_queue_pods", "Pods that wait for admission", stats.admission_queue as f64)?;
        gauge("witlet_blocked_pods", "Pods that a handler has deferred", stats.deferred as f64)?;
        gauge(
            "witlet_sources_ready",
            "1 once every source was seen",
            f64::from(u8::from(stats.sources_ready)),
        )?;
        gauge(
            "witlet_healthy",
            "1 while the agent is healthy",
            f64::from(u8::from(self.0.unhealthy().is_empty())),
        )?;
        unread(&mut encoder, &stats)?;
        probes(&mut encoder, &stats.probes)?;
        refusals(&mut encoder, &stats)?;
        evictions(&mut encoder, &stats)?;
        images(&mut encoder, &stats.images_removed)?;
        active_pods(&mut encoder, stats.active_pods)?;
        cgroups(&mut encoder, &stats.cgroups)
    }
}

/// A source that can be read isn't there.
fn unread(encoder: &mut DescriptorEncoder<'_>, stats: &AgentStats) -> fmt::Result {
    let help = "For how long the pods of a source can't be read";
    let name = "witlet_source_unread_seconds";
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (source, unread) in &stats.unread_sources {
        family.encode_family(&[("source", source.as_str())])?.encode_gauge(&unread.as_secs_f64())?;
    }
    Ok(())
}

/// Under upstream's name, without its labels that name pods: there is no bound to those.
fn probes(encoder: &mut DescriptorEncoder<'_>, totals: &ProbeTotals) -> fmt::Result {
    let help = "Probes by kind and result";
    let mut family = encoder.encode_descriptor("prober_probe", help, None, MetricType::Counter)?;
    let kinds =
        [("Startup", &totals.startup), ("Readiness", &totals.readiness), ("Liveness", &totals.liveness)];
    for (kind, counts) in kinds {
        let results =
            [("successful", counts.successful), ("failed", counts.failed), ("unknown", counts.unknown)];
        for (result, count) in results {
            family
                .encode_family(&[("probe_type", kind), ("result", result)])?
                .encode_counter::<NoLabelSet, _, f64>(&count, None)?;
        }
    }
    Ok(())
}

/// Under upstream's names.
fn refusals(encoder: &mut DescriptorEncoder<'_>, stats: &AgentStats) -> fmt::Result {
    let help = "Pods that admission refused, by reason";
    let mut family =
        encoder.encode_descriptor("kubelet_admission_rejections", help, None, MetricType::Counter)?;
    for (reason, count) in &stats.rejections {
        family
            .encode_family(&[("reason", reason.as_str())])?
            .encode_counter::<NoLabelSet, _, f64>(count, None)?;
    }
    let help = "Pods that were ended to make room for a critical one, by the first resource that it lacked";
    let mut family = encoder.encode_descriptor("kubelet_preemptions", help, None, MetricType::Counter)?;
    for (resource, count) in &stats.preemptions {
        family
            .encode_family(&[("preemption_signal", resource.as_str())])?
            .encode_counter::<NoLabelSet, _, f64>(count, None)?;
    }
    Ok(())
}

/// Under upstream's names.
fn evictions(encoder: &mut DescriptorEncoder<'_>, stats: &AgentStats) -> fmt::Result {
    let help = "Pods that were evicted, by signal";
    let mut family = encoder.encode_descriptor("kubelet_evictions", help, None, MetricType::Counter)?;
    for (signal, count) in &stats.evictions {
        family
            .encode_family(&[("eviction_signal", *signal)])?
            .encode_counter::<NoLabelSet, _, f64>(count, None)?;
    }
    let ages = stats.eviction_stats_ages.iter().map(|(signal, ages)| (*signal, ages));
    let help = "How old the figures were for which pods were evicted, by signal";
    histograms(encoder, "kubelet_eviction_stats_age_seconds", help, "eviction_signal", ages)
}

/// Under upstream's name.
fn active_pods(encoder: &mut DescriptorEncoder<'_>, pods: ActivePods) -> fmt::Result {
    let help = "Pods that admission handlers see as the node's; static are those that no API server brought";
    let mut family = encoder.encode_descriptor("kubelet_active_pods", help, None, MetricType::Gauge)?;
    for (is_static, count) in [("", pods.of_api_server), ("true", pods.of_node)] {
        family.encode_family(&[("static", is_static)])?.encode_gauge(&count)?;
    }
    Ok(())
}

/// Under upstream's names. What isn't known, or has no meaning here, isn't there.
fn cgroups(encoder: &mut DescriptorEncoder<'_>, stats: &CgroupStats) -> fmt::Result {
    let mut gauge = |name: &str, help: &str, value: Option<i64>| match value {
        Some(value) => encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value),
        None => Ok(()),
    };
    let version = stats.version.map(|version| match version {
        CgroupVersion::V1 => 1,
        CgroupVersion::V2 => 2,
    });
    gauge("kubelet_cgroup_version", "The version of the node's cgroups", version)?;
    gauge(
        "kubelet_memory_qos_node_memory_min_bytes",
        "Memory that Guaranteed pods are kept under all circumstances",
        stats.kept_memory.map(|kept| kept.guaranteed),
    )?;
    gauge(
        "kubelet_memory_qos_node_memory_low_bytes",
        "Memory that Burstable pods are kept as long as others have some to give",
        stats.kept_memory.map(|kept| kept.burstable),
    )?;
    if stats.runtime_names_no_driver {
        let help =
            "1 if the runtime doesn't name its cgroup driver, which kubelets from this version on need";
        let name = "kubelet_cri_losing_support";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        family.encode_family(&[("version", NAMED_DRIVER_SINCE)])?.encode_gauge(&1_u64)?;
    }
    let CgroupDurations { create, update, destroy } = &stats.durations;
    let durations = [("create", create), ("update", update), ("destroy", destroy)];
    let done = durations.into_iter().filter(|(_, durations)| durations.count() > 0);
    let help = "How long making, setting and removing cgroups took";
    histograms(encoder, "kubelet_cgroup_manager_duration_seconds", help, "operation_type", done)
}

/// One histogram for each value of the label.
fn histograms<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    of: impl Iterator<Item = (&'a str, &'a DurationHistogram)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (value, histogram) in of {
        let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
        let (sum, count) = (histogram.sum().as_secs_f64(), histogram.count());
        family
            .encode_family(&[(label, value)])?
            .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}

/// Under upstream's name. A reason that no image was removed for isn't there.
fn images(encoder: &mut DescriptorEncoder<'_>, removed: &ImageRemovals) -> fmt::Result {
    let help = "Images that were removed by the image garbage collection, by reason";
    let mut family =
        encoder.encode_descriptor("kubelet_image_garbage_collected", help, None, MetricType::Counter)?;
    for (reason, count) in [("age", removed.age), ("space", removed.space)] {
        if count > 0 {
            family
                .encode_family(&[("reason", reason)])?
                .encode_counter::<NoLabelSet, _, f64>(&count, None)?;
        }
    }
    Ok(())
}

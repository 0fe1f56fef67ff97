//! What is counted of statuses that were written, and of the starts that they show.

use std::time::Duration;

use jiff::SignedDuration;
use witlet_core::pod::startup::StartLatency;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Gauge, Histograms, MetricsSource};

/// Upper bounds in seconds for writes (upstream: `kubelet_pod_status_sync_duration_seconds`).
const WRITE_BUCKETS: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];
/// Upper bounds in seconds for starts (upstream: `podStartupDurationBuckets`).
const START_BUCKETS: &[f64] = &[
    0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0,
    480.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0,
];

/// Counts writes and starts.
pub(super) struct StatusMetrics {
    writes: Histograms<0>,
    starts: Histograms<0>,
    sli_starts: Histograms<0>,
    first_with_network: Gauge,
}

impl Default for StatusMetrics {
    fn default() -> Self {
        Self {
            writes: Histograms::new(
                "kubelet_pod_status_sync_duration_seconds",
                "[ALPHA] Duration in seconds to sync a pod status update. Measures time from \
                 detection of a change to pod status until the API is successfully updated for that \
                 pod, even if multiple intevening changes to pod status occur.",
                [],
                WRITE_BUCKETS,
            ),
            starts: Histograms::new(
                "kubelet_pod_start_total_duration_seconds",
                "[ALPHA] Duration in seconds to start a pod since creation, including time to pull \
                 images and run init containers, measured from pod creation timestamp to when all its \
                 containers are reported as started and observed via watch",
                [],
                START_BUCKETS,
            ),
            sli_starts: Histograms::new(
                "kubelet_pod_start_sli_duration_seconds",
                "[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run \
                 init containers, measured from pod creation timestamp to when all its containers are \
                 reported as started and observed via watch",
                [],
                START_BUCKETS,
            ),
            first_with_network: Gauge::new(
                "kubelet_first_network_pod_start_sli_duration_seconds",
                "[INTERNAL] Duration in seconds to start the first network pod, excluding time to \
                 pull images and run init containers, measured from pod creation timestamp to when \
                 all its containers are reported as started and observed via watch",
            ),
        }
    }
}

impl MetricsSource for StatusMetrics {
    fn write(&self, to: &mut Exposition) {
        let families: [&dyn MetricsSource; 4] =
            [&self.writes, &self.starts, &self.sli_starts, &self.first_with_network];
        families.into_iter().for_each(|family| family.write(to));
    }
}

impl StatusMetrics {
    /// The API server has a status.
    pub(super) fn written(&self, took: Duration) {
        self.writes.observe_duration([], took);
    }

    /// The API server knows that a pod has started.
    pub(super) fn started(&self, latency: StartLatency) {
        let seconds = |took: SignedDuration| took.as_secs_f64().max(0.0);
        self.starts.observe([], seconds(latency.total));
        if let Some(sli) = latency.sli {
            self.sli_starts.observe([], seconds(sli));
            if latency.has_network {
                self.first_with_network.set_once(seconds(sli));
            }
        }
    }
}

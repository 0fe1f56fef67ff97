//! What pods' folders took, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::stats::LocalStorage;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{DEFAULT_BUCKETS, Histograms, MetricsSource};

/// How folders are measured here: each file is looked at, as `du` does.
const SOURCE: &str = "du";

/// Logs of a pod's containers, in bytes.
struct Logs {
    pod: PodFullName,
    bytes: BTreeMap<String, u64>,
}

/// What the last pass over pods' folders found, and how long it took.
pub(super) struct StorageMetrics {
    durations: Histograms<1>,
    logs: Mutex<BTreeMap<PodUid, Logs>>,
}

impl Default for StorageMetrics {
    fn default() -> Self {
        let durations = Histograms::new(
            "kubelet_volume_metric_collection_duration_seconds",
            "[ALPHA] How long it took to add up the volumes and logs of a pod",
            ["metric_source"],
            DEFAULT_BUCKETS,
        );
        Self { durations, logs: Mutex::default() }
    }
}

impl StorageMetrics {
    /// A pod was measured.
    pub(super) fn measured(&self, pod: &Pod, used: &LocalStorage, took: Duration) {
        self.durations.observe_duration([SOURCE], took);
        let bytes = used.logs.iter().filter_map(|(name, log)| Some((name.clone(), log.bytes?)));
        let logs = Logs { pod: PodFullName::of(pod), bytes: bytes.collect() };
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).insert(PodUid::of(pod), logs);
    }

    /// Forgets pods that weren't measured.
    pub(super) fn keep(&self, is_measured: impl Fn(&PodUid) -> bool) {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).retain(|uid, _| is_measured(uid));
    }
}

impl MetricsSource for StorageMetrics {
    fn write(&self, to: &mut Exposition) {
        let help = "[ALPHA] What the logs of containers take of the disk, as it was measured last";
        let mut family = to.family("kubelet_container_log_filesystem_used_bytes", help, Kind::Gauge);
        for (uid, Logs { pod, bytes }) in &*self.logs.lock().unwrap_or_else(PoisonError::into_inner) {
            for (container, bytes) in bytes {
                let labels = [
                    ("container", container.as_str()),
                    ("namespace", &*pod.namespace),
                    ("pod", &*pod.name),
                    ("uid", uid.as_str()),
                ];
                family.sample(&labels, *bytes as f64);
            }
        }
        self.durations.write(to);
    }
}

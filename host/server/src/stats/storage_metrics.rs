//! What pods' folders took, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::stats::LocalStorage;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_core::stats::summary::{FsMeasurement, VolumeStats, volume_stats};
use witlet_core::stats::volume_metrics::volume_metrics;
use witlet_ports::{DEFAULT_BUCKETS, Histograms, MetricsSource};

#[cfg(test)]
mod tests;

/// How folders are measured here: each file is checked, as `du` does.
const SOURCE: &str = "du";

/// What is shown of a pod's folders.
struct Folders {
    /// When they were added up.
    at: Instant,
    pod: PodFullName,
    /// Logs of its containers, in bytes.
    logs: BTreeMap<String, u64>,
    /// Its volumes that are of claims.
    claims: Vec<VolumeStats>,
}

/// What the last pass over pods' folders found, and how long it took.
pub(super) struct StorageMetrics {
    durations: Histograms<1>,
    folders: Mutex<BTreeMap<PodUid, Folders>>,
    /// What is as old as this isn't shown any more.
    old: Duration,
}

impl StorageMetrics {
    pub(super) fn new(old: Duration) -> Self {
        let durations = Histograms::new(
            "kubelet_volume_metric_collection_duration_seconds",
            "[ALPHA] Duration in seconds to calculate volume stats",
            ["metric_source"],
            DEFAULT_BUCKETS,
        );
        Self { durations, folders: Mutex::default(), old }
    }

    /// A pod was measured. Volumes whose file system isn't known are on `nodefs`.
    pub(super) fn measured(
        &self,
        pod: &Pod,
        used: &LocalStorage,
        nodefs: Option<&FsMeasurement>,
        at: Timestamp,
        took: Duration,
    ) {
        self.durations.observe_duration([SOURCE], took);
        let logs = used.logs.iter().filter_map(|(name, log)| Some((name.clone(), log.bytes?)));
        let mut claims = volume_stats(Some(pod), used.measured_volumes(), nodefs, at);
        claims.retain(|volume| volume.pvc_ref.is_some());
        let (now, pod_name) = (Instant::now(), PodFullName::of(pod));
        let folders = Folders { at: now, pod: pod_name, logs: logs.collect(), claims };
        self.lock().insert(PodUid::of(pod), folders);
    }

    /// Forgets other pods.
    pub(super) fn keep(&self, is_kept: impl Fn(&PodUid) -> bool) {
        self.lock().retain(|uid, _| is_kept(uid));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PodUid, Folders>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricsSource for StorageMetrics {
    fn write(&self, to: &mut Exposition) {
        let mut folders = self.lock();
        folders.retain(|_, folders| folders.at.elapsed() < self.old);
        let help = "[ALPHA] Bytes used by the container's logs on the filesystem.";
        let mut family = to.family("kubelet_container_log_filesystem_used_bytes", help, Kind::Gauge);
        for (uid, Folders { pod, logs, .. }) in &*folders {
            for (container, bytes) in logs {
                let labels = [
                    ("container", container.as_str()),
                    ("namespace", &*pod.namespace),
                    ("pod", &*pod.name),
                    ("uid", uid.as_str()),
                ];
                family.sample(&labels, *bytes as f64);
            }
        }
        to.families(&volume_metrics(folders.values().flat_map(|folders| &folders.claims)));
        drop(folders);
        self.durations.write(to);
    }
}

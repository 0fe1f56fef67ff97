//! What is counted of pods' volumes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{Histograms, MetricsSource};

/// Upper bounds in seconds (upstream: `storage_operation_duration_seconds`).
const BUCKETS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0];
/// No volume is one of a plugin that was replaced by a CSI driver.
const MIGRATED: &str = "false";

/// Families of volumes.
pub(crate) struct VolumeMetrics {
    operations: Histograms<4>,
    overall: Histograms<2>,
    pods: Mutex<BTreeMap<PodUid, PodVolumes>>,
}

/// The volumes of a pod, by their names.
struct PodVolumes {
    /// Since when they are desired.
    since: Instant,
    desired: BTreeMap<String, &'static str>,
    mounted: BTreeMap<String, &'static str>,
}

impl Default for VolumeMetrics {
    fn default() -> Self {
        Self {
            operations: Histograms::new(
                "storage_operation_duration_seconds",
                "[ALPHA] Storage operation duration",
                ["migrated", "operation_name", "status", "volume_plugin"],
                BUCKETS,
            ),
            overall: Histograms::new(
                "volume_operation_total_seconds",
                "[ALPHA] Storage operation end to end duration in seconds",
                ["operation_name", "plugin_name"],
                BUCKETS,
            ),
            pods: Mutex::default(),
        }
    }
}

impl VolumeMetrics {
    /// A pod's containers mount these volumes, by name and plugin. Others that it had aren't desired any more.
    pub(crate) fn desired(&self, uid: &PodUid, plugins: &[(String, &'static str)]) {
        let mut pods = self.lock();
        if plugins.is_empty() {
            pods.remove(uid);
            return;
        }
        let none =
            || PodVolumes { since: Instant::now(), desired: BTreeMap::new(), mounted: BTreeMap::new() };
        let pod = pods.entry(uid.clone()).or_insert_with(none);
        pod.desired = plugins.iter().cloned().collect();
        pod.mounted.retain(|name, _| pod.desired.contains_key(name));
    }

    /// A volume was made, or its files were written again, or it couldn't be.
    pub(crate) fn mounted(&self, uid: &PodUid, name: &str, took: Duration, is_done: bool) {
        let mut pods = self.lock();
        let Some(pod) = pods.get_mut(uid) else { return };
        let Some(plugin) = pod.desired.get(name).copied() else { return };
        let is_first = is_done && pod.mounted.insert(name.to_owned(), plugin).is_none();
        let since = pod.since;
        drop(pods);
        self.observe("volume_mount", plugin, took, is_done);
        if is_first {
            self.overall.observe_duration(["overall_volume_mount", plugin], since.elapsed());
        }
    }

    /// The volumes of a pod were unmounted together, or couldn't be.
    pub(crate) fn unmounted(&self, uid: &PodUid, took: Duration, is_done: bool) {
        let mut pods = self.lock();
        let pod = pods.get(uid);
        let plugins: Vec<&'static str> =
            pod.into_iter().flat_map(|pod| pod.mounted.values()).copied().collect();
        if is_done {
            pods.remove(uid);
        }
        drop(pods);
        plugins.into_iter().for_each(|plugin| self.observe("volume_unmount", plugin, took, is_done));
    }

    fn observe(&self, operation: &str, plugin: &str, took: Duration, is_done: bool) {
        let status = if is_done { "success" } else { "fail-unknown" };
        self.operations.observe_duration([MIGRATED, operation, status, plugin], took);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PodUid, PodVolumes>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricsSource for VolumeMetrics {
    fn write(&self, to: &mut Exposition) {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for pod in self.lock().values() {
            let states = [("desired_state_of_world", &pod.desired), ("actual_state_of_world", &pod.mounted)];
            for (state, volumes) in states {
                volumes.values().for_each(|plugin| *counts.entry((*plugin, state)).or_default() += 1);
            }
        }
        let help = "[ALPHA] Number of volumes in Volume Manager";
        let mut family = to.family("volume_manager_total_volumes", help, Kind::Gauge);
        for ((plugin, state), count) in counts {
            family.sample(&[("plugin_name", plugin), ("state", state)], count as f64);
        }
        self.operations.write(to);
        self.overall.write(to);
    }
}

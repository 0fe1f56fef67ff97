//! What pods' folders take: measured independently of the eviction manager, as often as its cost allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use witlet_core::pod::PodUid;
use witlet_core::stats::LocalStorage;
use witlet_ports::StorageMeter;

/// Pods are measured again at the latest after this (upstream: `volumeStatsAggPeriod`).
const PERIOD_MAX: Duration = Duration::from_secs(60);
/// And at the earliest after this, which is a round of the eviction manager: limits are noticed as soon as may be.
const PERIOD_MIN: Duration = Duration::from_secs(9);
/// A pass that took long is followed by a pause of this many times its length: what is checked all the time has to be cheap.
const PAUSE_FACTOR: u32 = 1000;
/// Before pods are ranked by their disk, they are measured for so long at most; of the rest what is known from before counts.
const MEASURE_NOW_MAX: Duration = Duration::from_secs(30);
/// Pods that are measured at the same time then.
const MEASURED_AT_ONCE_MAX: usize = 4;

/// The newest measurements.
pub(super) struct StorageCache {
    meter: Arc<dyn StorageMeter>,
    known: BTreeMap<PodUid, LocalStorage>,
    /// One pass at a time.
    running: JoinSet<(BTreeMap<PodUid, LocalStorage>, Duration)>,
    due: Instant,
}

impl StorageCache {
    pub(super) fn new(meter: Arc<dyn StorageMeter>) -> Self {
        Self { meter, known: BTreeMap::new(), running: JoinSet::new(), due: Instant::now() }
    }

    /// Returns what is known. A pod that wasn't measured yet is missing.
    pub(super) fn known(&self) -> &BTreeMap<PodUid, LocalStorage> {
        &self.known
    }

    /// Takes in what was measured, and begins to measure these pods if it is time. Doesn't wait.
    pub(super) fn refresh(&mut self, pods: Vec<Arc<Pod>>) {
        // A pass that panicked is begun again.
        if let Some(Ok((measured, took))) = self.running.try_join_next() {
            self.known = measured;
            self.due = Instant::now() + pause(took);
        }
        if pods.is_empty() {
            self.known.clear();
        }
        if pods.is_empty() || !self.running.is_empty() || Instant::now() < self.due {
            return;
        }
        let meter = self.meter.clone();
        self.running.spawn(async move {
            let begun = Instant::now();
            let mut measured = BTreeMap::new();
            for pod in pods {
                measured.insert(PodUid::of(&pod), meter.measure(&pod).await);
            }
            (measured, begun.elapsed())
        });
    }

    /// Measures these pods, for a bounded time.
    pub(super) async fn measure_now(&mut self, pods: Vec<Arc<Pod>>) {
        let meter = &self.meter;
        let measuring =
            stream::iter(pods).map(|pod| async move { (PodUid::of(&pod), meter.measure(&pod).await) });
        let mut measuring = measuring.buffer_unordered(MEASURED_AT_ONCE_MAX);
        let known = &mut self.known;
        let all = async {
            while let Some((uid, storage)) = measuring.next().await {
                known.insert(uid, storage);
            }
        };
        if timeout(MEASURE_NOW_MAX, all).await.is_err() {
            tracing::warn!(
                "Eviction manager: measuring all pods' disk takes long; pods are ranked by what is known"
            );
        }
    }
}

/// When to begin again after a pass that took so long.
fn pause(took: Duration) -> Duration {
    took.saturating_mul(PAUSE_FACTOR).clamp(PERIOD_MIN, PERIOD_MAX)
}

#[cfg(test)]
mod tests;

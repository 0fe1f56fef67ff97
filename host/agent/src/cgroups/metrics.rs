//! What monitoring sees of the work on cgroups.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::time::Instant;
use witlet_core::cgroup::{CgroupFacts, PodCgroup, ResourceConfig};
use witlet_ports::{CgroupDurations, CgroupError, CgroupStats, Cgroups, Histogram};

/// The numbers of one agent's container manager.
#[derive(Debug, Default)]
pub(crate) struct CgroupMetrics(Mutex<CgroupStats>);

impl CgroupMetrics {
    /// Returns the current counts.
    pub(crate) fn stats(&self) -> CgroupStats {
        self.lock().clone()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut CgroupStats)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, CgroupStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A driver of which each change of a cgroup is measured, as upstream's is (`cm/cgroup_manager_linux.go`).
pub(super) struct MeasuredCgroups {
    pub(super) driver: Arc<dyn Cgroups>,
    pub(super) metrics: Arc<CgroupMetrics>,
}

impl MeasuredCgroups {
    async fn measure<T>(
        &self,
        work: impl Future<Output = T> + Send,
        of: fn(&mut CgroupDurations) -> &mut Histogram,
    ) -> T {
        let begun = Instant::now();
        let outcome = work.await;
        self.metrics.update(|stats| of(&mut stats.durations).observe(begun.elapsed().as_secs_f64()));
        outcome
    }
}

#[async_trait]
impl Cgroups for MeasuredCgroups {
    fn facts(&self) -> &CgroupFacts {
        self.driver.facts()
    }

    async fn check_controllers(&self) -> Result<(), CgroupError> {
        self.driver.check_controllers().await
    }

    async fn validate(&self, path: &str) -> Result<(), CgroupError> {
        self.driver.validate(path).await
    }

    async fn create(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        self.measure(self.driver.create(path, config), |durations| &mut durations.create).await
    }

    async fn update(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        self.measure(self.driver.update(path, config), |durations| &mut durations.update).await
    }

    async fn read(&self, path: &str) -> Result<PodCgroup, CgroupError> {
        self.driver.read(path).await
    }

    async fn remove(&self, path: &str) -> Result<(), CgroupError> {
        self.measure(self.driver.remove(path), |durations| &mut durations.destroy).await
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, CgroupError> {
        self.driver.children(path).await
    }
}

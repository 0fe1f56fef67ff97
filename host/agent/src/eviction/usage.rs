//! What pods use when one has to go: the kernel's figures, and the runtime's where that has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use witlet_core::error::one_line;
use witlet_core::eviction::StarvedResource;
use witlet_core::pod::PodUid;
use witlet_core::runtime::RuntimePod;
use witlet_core::stats::summary::Scope;
use witlet_core::stats::{CountedPod, LocalStorage, Measured, PodUsages, combine, is_counted};
use witlet_ports::{KernelMeter, PodView, RunningPod, RuntimeError, RuntimeStats};

/// Measures pods. A runtime that hangs because memory is short holds up nothing that the kernel says as well.
pub(super) struct PodMeter {
    pub(super) kernel: Arc<dyn KernelMeter>,
    pub(super) runtime: Arc<dyn RuntimeStats>,
    pub(super) view: Arc<dyn PodView>,
}

impl PodMeter {
    /// Writable layers, with what the pods' folders take.
    pub(super) async fn layers(
        &self,
        storage: &BTreeMap<PodUid, LocalStorage>,
    ) -> Result<PodUsages, RuntimeError> {
        Ok(combine([], self.by_runtime().await?, &BTreeMap::new(), &BTreeMap::new(), storage))
    }

    /// Returns what every pod uses of what the node is short of.
    pub(super) async fn usages(
        &self,
        resource: StarvedResource,
        storage: &BTreeMap<PodUid, LocalStorage>,
    ) -> Result<PodUsages, RuntimeError> {
        // Which pods are there matters, for those that weren't measured go first.
        let listed = self.view.list_pods().await?;
        let (mut counted, mut containers, mut processes) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        match resource {
            StarvedResource::Memory => {
                counted = self.counted(&listed, Scope::CpuAndMemory).await;
                if !is_counted(&counted, |container| container.memory) {
                    containers = self.by_runtime().await?;
                }
            }
            StarvedResource::Pids => {
                counted = self.counted(&listed, Scope::All).await;
                if !is_counted(&counted, |container| container.processes) {
                    processes = self.processes(&counted).await?;
                }
            }
            StarvedResource::EphemeralStorage | StarvedResource::Inodes => {
                containers = self.by_runtime().await?;
            }
        }
        let sandboxes = listed.iter().map(|pod| pod.uid.clone());
        Ok(combine(sandboxes, containers, &counted, &processes, storage))
    }

    async fn counted(&self, listed: &[RuntimePod], scope: Scope) -> BTreeMap<PodUid, CountedPod> {
        let running = listed.iter().filter_map(|pod| RunningPod::of(pod, false)).collect();
        let counts = self.kernel.counts(running, scope).await;
        listed.iter().filter_map(|pod| Some((pod.uid.clone(), counts.counted(pod)?))).collect()
    }

    async fn by_runtime(&self) -> Result<Vec<Measured>, RuntimeError> {
        let containers = self.runtime.containers().await?;
        Ok(containers.into_iter().map(|one| (one.uid, one.attempt, one.usage)).collect())
    }

    /// By the runtime. Not every one counts them: then those that the kernel has count alone, if there are any.
    async fn processes(
        &self,
        counted: &BTreeMap<PodUid, CountedPod>,
    ) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        let answer = self.runtime.processes().await;
        let mut containers = counted.values().flat_map(|pod| &pod.containers);
        match answer {
            Err(error) if containers.any(|container| container.processes.is_some()) => {
                tracing::debug!(
                    error = one_line(&error),
                    "Eviction manager: the runtime doesn't count processes"
                );
                Ok(BTreeMap::new())
            }
            answer => answer,
        }
    }
}

//! What containers use, for those that check a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use witlet_core::pod::PodUid;
use witlet_core::stats::summary::Scope;
use witlet_core::stats::{ContainerUsage, CpuTime};
use witlet_ports::{
    ContainerCounts, ContainerStats, KernelMeter, PodView, RunningPod, RuntimeError, RuntimeStats,
};

use super::FRESH;

#[cfg(test)]
mod tests;

/// Containers by their cgroups, as the summary has them: the runtime would read the same files, and may fail to. Those without a cgroup are
/// the runtime's.
pub struct CgroupContainerStats {
    /// The pods as the runtime has them.
    pub pods: Arc<dyn PodView>,
    /// What the kernel counts.
    pub kernel: Arc<dyn KernelMeter>,
    /// Of the other containers.
    pub runtime: Arc<dyn RuntimeStats>,
}

#[async_trait]
impl RuntimeStats for CgroupContainerStats {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        let listed = self.pods.list_pods_within(FRESH).await?;
        let pods: Vec<RunningPod> = listed.iter().filter_map(|pod| RunningPod::of(pod, false)).collect();
        let counts = self.kernel.counts(pods, Scope::CpuAndMemory).await;
        let mut found = Vec::new();
        let mut is_complete = true;
        for pod in listed.iter() {
            let counted = counts.pods.get(&pod.uid);
            for container in pod.running_containers() {
                match counted.and_then(|counted| counted.containers.get(&container.id)) {
                    Some(counts) => found.push(stats(&pod.uid, &container.name, counts)),
                    None => is_complete = false,
                }
            }
        }
        if !is_complete {
            let known: BTreeSet<(PodUid, String)> =
                found.iter().map(|stats| (stats.uid.clone(), stats.usage.name.clone())).collect();
            let others = self.runtime.containers().await?.into_iter();
            found.extend(
                others.filter(|stats| !known.contains(&(stats.uid.clone(), stats.usage.name.clone()))),
            );
        }
        Ok(found)
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        self.runtime.processes().await
    }
}

/// Only the newest instance of a container is listed, so that there is nothing to tell apart.
fn stats(uid: &PodUid, name: &str, counts: &ContainerCounts) -> ContainerStats {
    let usage = &counts.usage;
    let cpu = usage.cpu_nanoseconds.map(|nanoseconds| CpuTime { nanoseconds, at: Some(usage.at) });
    let usage = ContainerUsage {
        name: name.to_owned(),
        memory: usage.memory.map(|memory| memory.working_set),
        memory_details: usage.memory,
        swap: usage.swap,
        cpu,
        ..ContainerUsage::default()
    };
    ContainerStats { uid: uid.clone(), attempt: 0, usage }
}

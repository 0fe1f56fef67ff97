//! What the runtime measures of pods.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use witlet_core::pod::PodUid;
use witlet_core::runtime::labels;
use witlet_core::stats::cgroup_usage::{MemoryUsage, SwapUsage};
use witlet_core::stats::{ContainerUsage, CpuTime, FsUsage};
use witlet_ports::{ContainerStats, RuntimeError, RuntimeStats};
use witlet_proto::cri;

use super::CriClient;
use crate::connection::request;

#[async_trait]
impl RuntimeStats for CriClient {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.runtime.runtime_service();
        let list =
            client.list_container_stats(request(cri::ListContainerStatsRequest { filter: None }, limit));
        let answer = self.runtime.answer("ListContainerStats", limit, list).await?;
        Ok(answer.stats.into_iter().filter_map(container).collect())
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.runtime.runtime_service();
        let list =
            client.list_pod_sandbox_stats(request(cri::ListPodSandboxStatsRequest { filter: None }, limit));
        let answer = self.runtime.answer("ListPodSandboxStats", limit, list).await?;
        let count = |sandbox: cri::PodSandboxStats| {
            let uid = uid(&sandbox.attributes?.labels)?;
            Some((uid, sandbox.linux?.process?.process_count?.value))
        };
        let mut counts = BTreeMap::new();
        // A pod may have an older sandbox, of which nothing runs.
        for (uid, processes) in answer.stats.into_iter().filter_map(count) {
            let sum: &mut u64 = counts.entry(uid).or_default();
            *sum = sum.saturating_add(processes);
        }
        Ok(counts)
    }
}

fn uid(labels: &BTreeMap<String, String>) -> Option<PodUid> {
    labels.get(labels::POD_UID).filter(|uid| !uid.is_empty()).map(|uid| PodUid::from(uid.as_str()))
}

/// Converts the stats of a container; `None` without Kubernetes' labels.
fn container(stats: cri::ContainerStats) -> Option<ContainerStats> {
    let attributes = stats.attributes?;
    let uid = uid(&attributes.labels)?;
    let metadata = attributes.metadata?;
    let value = |value: Option<cri::UInt64Value>| value.map(|value| value.value);
    let layer = stats.writable_layer;
    Some(ContainerStats {
        uid,
        attempt: metadata.attempt,
        usage: ContainerUsage {
            name: metadata.name,
            memory: stats.memory.as_ref().and_then(|memory| value(memory.working_set_bytes)),
            memory_details: stats.memory.and_then(|memory| {
                let working_set = value(memory.working_set_bytes)?;
                let available = value(memory.available_bytes);
                Some(MemoryUsage {
                    usage: value(memory.usage_bytes),
                    working_set,
                    rss: value(memory.rss_bytes),
                    page_faults: value(memory.page_faults),
                    major_page_faults: value(memory.major_page_faults),
                    limit: available.map(|available| available.saturating_add(working_set)),
                })
            }),
            swap: stats.swap.and_then(|swap| {
                let usage = value(swap.swap_usage_bytes)?;
                let available = value(swap.swap_available_bytes);
                Some(SwapUsage { usage, limit: available.map(|available| available.saturating_add(usage)) })
            }),
            cpu: stats.cpu.and_then(|cpu| {
                let at = Timestamp::from_nanosecond(cpu.timestamp.into()).ok().filter(|_| cpu.timestamp > 0);
                Some(CpuTime { nanoseconds: value(cpu.usage_core_nano_seconds)?, at })
            }),
            rootfs: layer.map_or_else(FsUsage::default, |layer| FsUsage {
                bytes: value(layer.used_bytes),
                inodes: value(layer.inodes_used),
            }),
            logs: FsUsage::default(),
        },
    })
}

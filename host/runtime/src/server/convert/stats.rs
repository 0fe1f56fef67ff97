//! What containers and sandboxes take, in the CRI's terms. What no one measures is left out, not reported as 0.

use jiff::Timestamp;
use witlet_proto::cri;

use super::{container_metadata, has_labels, nanoseconds, sandbox_metadata};
use crate::pods::{ContainerRecord, ContainerStats, SandboxRecord, SandboxStats};

fn value(value: u64) -> Option<cri::UInt64Value> {
    Some(cri::UInt64Value { value })
}

fn cpu(at: Timestamp, used_nanoseconds: u64) -> Option<cri::CpuUsage> {
    Some(cri::CpuUsage {
        timestamp: nanoseconds(at),
        usage_core_nano_seconds: value(used_nanoseconds),
        ..Default::default()
    })
}

/// A linear memory isn't given back before its instance ends, so that all of it is the working set.
fn memory(at: Timestamp, used_bytes: u64, limit_bytes: Option<u64>) -> Option<cri::MemoryUsage> {
    Some(cri::MemoryUsage {
        timestamp: nanoseconds(at),
        working_set_bytes: value(used_bytes),
        usage_bytes: value(used_bytes),
        available_bytes: limit_bytes.and_then(|limit| value(limit.saturating_sub(used_bytes))),
        ..Default::default()
    })
}

/// Returns what a container takes.
pub(in crate::server) fn container_stats(stats: &ContainerStats) -> cri::ContainerStats {
    let ContainerStats { record, at, cpu_nanoseconds, memory_bytes, memory_limit_bytes, layer, programs: _ } =
        stats;
    cri::ContainerStats {
        attributes: Some(cri::ContainerAttributes {
            id: record.id.clone(),
            metadata: Some(container_metadata(record)),
            labels: record.config.labels.clone(),
            annotations: record.config.annotations.clone(),
        }),
        cpu: cpu(*at, *cpu_nanoseconds),
        memory: memory(*at, *memory_bytes, Some(*memory_limit_bytes)),
        writable_layer: Some(cri::FilesystemUsage {
            timestamp: nanoseconds(*at),
            fs_id: None,
            used_bytes: value(layer.0),
            inodes_used: value(layer.1),
        }),
        ..Default::default()
    }
}

/// Returns what a sandbox takes. Its network isn't measured.
pub(in crate::server) fn sandbox_stats(stats: &SandboxStats) -> cri::PodSandboxStats {
    let SandboxStats { record, at, containers, cpu_nanoseconds } = stats;
    let used = containers.iter().map(|container| container.memory_bytes).sum();
    let programs = containers.iter().map(|container| container.programs).sum();
    cri::PodSandboxStats {
        attributes: Some(cri::PodSandboxAttributes {
            id: record.id.clone(),
            metadata: Some(sandbox_metadata(record)),
            labels: record.config.labels.clone(),
            annotations: record.config.annotations.clone(),
        }),
        linux: Some(cri::LinuxPodSandboxStats {
            cpu: cpu(*at, *cpu_nanoseconds),
            memory: memory(*at, used, None),
            process: Some(cri::ProcessUsage { timestamp: nanoseconds(*at), process_count: value(programs) }),
            containers: containers.iter().map(container_stats).collect(),
            ..Default::default()
        }),
        windows: None,
    }
}

/// Whether a filter lets a container through; an empty field lets all through.
pub(in crate::server) fn selects_container_stats(
    filter: Option<&cri::ContainerStatsFilter>,
    record: &ContainerRecord,
) -> bool {
    filter.is_none_or(|filter| {
        (filter.id.is_empty() || filter.id == record.id)
            && (filter.pod_sandbox_id.is_empty() || filter.pod_sandbox_id == record.sandbox_id)
            && has_labels(&record.config.labels, &filter.label_selector)
    })
}

/// Whether a filter lets a sandbox through; an empty field lets all through.
pub(in crate::server) fn selects_sandbox_stats(
    filter: Option<&cri::PodSandboxStatsFilter>,
    record: &SandboxRecord,
) -> bool {
    filter.is_none_or(|filter| {
        (filter.id.is_empty() || filter.id == record.id)
            && has_labels(&record.config.labels, &filter.label_selector)
    })
}

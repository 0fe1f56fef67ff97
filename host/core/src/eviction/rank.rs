//! Which pod goes first (`rankMemoryPressure`, `rankPIDPressure`, `rankDiskPressureFunc`).

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::filesystems::{Filesystems, Measured};
use super::signal::{Signal, StarvedResource};
use crate::pod::PodUid;
use crate::pod::resources::{self, EPHEMERAL_STORAGE, MEMORY};
use crate::stats::{self, FsUsage, PodUsage, PodUsages};

#[cfg(test)]
mod tests;

/// How often the end of an evicted pod is waited for while it would be the next one to go. A kubelet turns to it again and again, so that
/// a slow machine costs no second pod; one that never ends mustn't keep the node short.
pub(super) const END_WAITS_MAX: u32 = 4;

/// A pod that was admitted and whose containers may run.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub uid: PodUid,
    /// With the resources that it was allocated.
    pub pod: Arc<Pod>,
    /// The node needs it: it is never evicted.
    pub is_critical: bool,
    /// It was evicted, and may still end.
    pub is_evicted: bool,
    /// How often that was waited for in vain.
    pub waits: u32,
}

impl Candidate {
    /// Whether it may be evicted now.
    pub fn is_evictable(&self) -> bool {
        !self.is_critical && !self.is_evicted
    }

    /// Whether its end, which has begun, is still waited for.
    pub(super) fn is_awaited(&self) -> bool {
        !self.is_critical && self.is_evicted && self.waits < END_WAITS_MAX
    }
}

/// The place of a pod in the order: the smallest goes first. Pods that weren't measured go before all others of their priority, for
/// nothing else is known of them.
pub(super) type EvictionOrder = (bool, bool, i32, bool, Reverse<i128>);

/// The pods in the order in which they go. Those that are level stay as they were.
pub fn rank<'a>(
    signal: Signal,
    filesystems: Filesystems,
    pods: &'a [Candidate],
    usages: &PodUsages,
) -> Vec<&'a Candidate> {
    let mut ranked: Vec<&Candidate> = pods.iter().collect();
    ranked.sort_by_cached_key(|candidate| {
        eviction_order(signal, filesystems, &candidate.pod, usages.get(&candidate.uid))
    });
    ranked
}

pub(super) fn eviction_order(
    signal: Signal,
    filesystems: Filesystems,
    pod: &Pod,
    usage: Option<&PodUsage>,
) -> EvictionOrder {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    let is_measured = usage.is_some();
    let resource = signal.resource();
    let (exceeds, over) = match resource {
        StarvedResource::Memory => {
            let (used, asked) = (usage.map_or(0, memory), request(pod, MEMORY));
            (used > asked, used - asked)
        }
        StarvedResource::Pids => {
            let used = usage.and_then(|usage| usage.processes).unwrap_or(0);
            return (false, false, priority, is_measured, Reverse(used.into()));
        }
        StarvedResource::EphemeralStorage | StarvedResource::Inodes => {
            let part = filesystems.measured(signal);
            let asked = request(pod, EPHEMERAL_STORAGE);
            let used = usage.map_or(0, |usage| disk(pod, usage, part, resource));
            // No pod requests inodes; but what is used of them is held against the request of bytes, as upstream.
            let limit = if resource == StarvedResource::Inodes { 0 } else { asked };
            (used > limit, used - asked)
        }
    };
    let over = if is_measured { over } else { 0 };
    (is_measured, !(exceeds && is_measured), priority, false, Reverse(over))
}

fn memory(usage: &PodUsage) -> i128 {
    usage.memory.unwrap_or(0).into()
}

/// Returns what the pod takes of the disk that counts, in bytes or inodes.
fn disk(pod: &Pod, usage: &PodUsage, part: Measured, resource: StarvedResource) -> i128 {
    let figure = |usage: &FsUsage| -> i128 {
        let figure = if resource == StarvedResource::Inodes { usage.inodes } else { usage.bytes };
        figure.unwrap_or(0).into()
    };
    let containers = usage.containers.iter().flat_map(|container| {
        [part.rootfs.then(|| figure(&container.rootfs)), part.logs.then(|| figure(&container.logs))]
    });
    let is_local = |volume: &&k8s_openapi::api::core::v1::Volume| {
        volume.host_path.is_some() || stats::is_local_ephemeral(volume)
    };
    let volumes = stats::volumes(pod).filter(is_local).filter(|_| part.volumes);
    let volumes = volumes.map(|volume| usage.volumes.get(&volume.name).map(figure));
    containers.chain(volumes).flatten().sum()
}

/// Returns what the pod requests of a resource (upstream: `GetResourceRequestQuantity`): where the pod as a whole states any resources, only
/// what it states as a whole. Overhead is added to what isn't nothing.
pub(super) fn request(pod: &Pod, resource: &str) -> i128 {
    let own = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let has_own = own.is_some_and(|own| {
        [&own.requests, &own.limits].into_iter().flatten().any(|amounts| !amounts.is_empty())
    });
    let without = if has_own {
        let stated = own.and_then(|own| own.requests.as_ref()?.get(resource));
        let counts = resource != EPHEMERAL_STORAGE;
        stated.filter(|_| counts).and_then(|quantity| resources::amount(resource, quantity).ok()).unwrap_or(0)
    } else {
        resources::requests_without_overhead(pod).get(resource).copied().unwrap_or(0)
    };
    let overhead = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref()?.get(resource));
    let overhead = overhead.filter(|_| without != 0);
    let overhead = overhead.and_then(|quantity| resources::amount(resource, quantity).ok()).unwrap_or(0);
    i128::from(without) + i128::from(overhead)
}

//! What is known for in-place changes of CPU and memory, and the steps that make them.

use std::collections::BTreeMap;

use thiserror::Error;

use super::spec::ContainerKind;
use crate::cgroup::{CpuQuotaPolicy, PodCgroup};
use crate::pod::allocation::ContainerResources;
use crate::runtime::{CgroupDriver, ContainerId, LinuxResources};

/// What running containers were last given, by instance: recorded when one is started and after each
/// [`ResizeContainer`]. One without a record counts as having what the runtime says.
pub type Actuated = BTreeMap<ContainerId, ContainerResources>;

/// What has to be known next to the pod to change its resources.
#[derive(Clone, Copy, Debug)]
pub struct ResizeFacts<'a> {
    /// What running containers were last given.
    pub actuated: &'a Actuated,
    /// Bytes that running containers use; without an entry it is left to the runtime to refuse a limit below its use.
    pub memory_usage: &'a BTreeMap<ContainerId, i64>,
    /// The pod's own cgroup, if the agent keeps one.
    pub pod_cgroup: Option<PodCgroup>,
    /// Whether and how CPU limits become quotas.
    pub cpu_quota: CpuQuotaPolicy,
    pub cgroup_driver: CgroupDriver,
}

/// A running container gets other limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ResizeContainer {
    pub id: ContainerId,
    /// What part it plays.
    pub kind: ContainerKind,
    /// Name in the pod's spec.
    pub name: String,
    /// Which of its resources this step changes.
    pub resource: Resized,
    /// What the runtime is asked for; what is zero stays. None if the kernel has no limit of it: then only the record
    /// changes.
    pub limits: Option<LinuxResources>,
    /// What is to be recorded in [`Actuated`] once that is done.
    pub actuated: ContainerResources,
}

/// The pod's own cgroup gets another limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResizePod {
    pub knob: PodKnob,
    /// Its new value; zero is none.
    pub value: i64,
}

/// A limit of a pod's cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PodKnob {
    /// What is asked for of CPU, as `cpu.shares` of cgroup v1.
    CpuShares,
    /// Microseconds of CPU in each period.
    CpuQuota,
    /// Bytes of memory.
    MemoryLimit,
}

/// A resource that can change in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resized {
    Cpu,
    Memory,
}

/// Why a change of resources isn't carried out now: reason `Error` of the pod's condition `PodResizeInProgress`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ResizeError {
    /// The container uses more than its new limit.
    #[error("attempting to set container {container:?} memory limit ({limit}) below current usage ({usage})")]
    ContainerMemory {
        container: String,
        /// Bytes.
        limit: i64,
        /// Bytes.
        usage: i64,
    },
    /// The pod uses more than its new limit.
    #[error("attempting to set pod memory limit ({limit}) below current usage ({usage})")]
    PodMemory {
        /// Bytes.
        limit: i64,
        /// Bytes.
        usage: i64,
    },
}

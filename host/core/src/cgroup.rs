//! Cgroups of the node and of pods: their names, what is written into them, and what a sync does about a pod's own.
//!
//! Rules of the kubelet's container manager (`pkg/kubelet/cm`): `kubepods` holds all pods, `burstable` and `besteffort` below
//! it hold the pods of these classes, Guaranteed pods are directly in `kubepods`.

mod convert;
mod layout;
mod memory;
mod name;
mod ownership;
mod resources;
mod systemd;
mod tier;
mod values;
mod writes;

pub use convert::{
    CPU_PERIOD_US, cpu_quota, cpu_shares, cpu_weight, hugepage_limits, hugepage_unit_size, quota_to_milli,
    shares_of_weight, shares_to_milli,
};
pub use layout::{CgroupLayout, KUBEPODS, first_tier_resources, tier_configs};
pub(crate) use memory::MEMORY_LOW;
pub use memory::{KeptMemory, MEMORY_MIN, MemoryQos, MemoryReservation, QosReserved, TierMemory, percentage};
pub use name::{CgroupName, InvalidPart};
pub use ownership::{PodCgroupAction, pod_cgroup_action};
pub use resources::{CpuQuotaPolicy, ResourceConfig, existing_resources, node_resources, pod_resources};
pub use systemd::{
    SliceUnit, UnitProperty, UnitValue, quota_of_driver, set_properties, start_properties, systemd_quota,
    systemd_release,
};
pub use tier::{Tier, TierPod};
pub use values::{PodCgroup, ValueError, cpu_max, number};
pub use writes::{CgroupFacts, CgroupVersion, FileWrite, WriteKind, writes};

#[cfg(test)]
mod tests;

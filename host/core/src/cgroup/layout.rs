//! Where pods' cgroups are, and what the two tiers of classes are set to (`cm/pod_container_manager_linux.go`,
//! `cm/qos_container_manager_linux.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::convert::cpu_shares;
use super::memory::TierMemory;
use super::name::{CgroupName, InvalidPart};
use super::resources::ResourceConfig;
use super::tier::{Tier, TierPod};
use crate::pod::PodUid;
use crate::runtime::CgroupDriver;

/// The cgroup of all pods, below `cgroupRoot`.
pub const KUBEPODS: &str = "kubepods";
/// What names of pods' cgroups begin with.
const POD: &str = "pod";
/// Huge pages of the tiers: no limit that any machine reaches.
const HUGEPAGES_UNBOUNDED: u64 = 1 << 62;

/// The names of all cgroups that the agent keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLayout {
    driver: CgroupDriver,
    root: CgroupName,
    kubepods: CgroupName,
}

impl CgroupLayout {
    /// `root` is the operator's `cgroupRoot`. It is written as a path of the cgroup file system with either driver, and names a cgroup:
    /// with systemd `/a/b` is the slice `a-b.slice`.
    pub fn new(driver: CgroupDriver, root: &str) -> Self {
        let root = CgroupName::parse(root, CgroupDriver::Cgroupfs);
        let kubepods = root.child(KUBEPODS).unwrap_or_else(|_| root.clone());
        Self { driver, root, kubepods }
    }

    /// Who makes these cgroups.
    pub fn driver(&self) -> CgroupDriver {
        self.driver
    }

    /// The cgroup that the one of all pods is in.
    pub fn root(&self) -> &CgroupName {
        &self.root
    }

    /// The cgroup of all pods.
    pub fn kubepods(&self) -> &CgroupName {
        &self.kubepods
    }

    /// The cgroup that pods of a class are in.
    pub fn tier(&self, tier: Tier) -> CgroupName {
        let part = tier.part().and_then(|part| self.kubepods.child(part).ok());
        part.unwrap_or_else(|| self.kubepods.clone())
    }

    /// A pod's own cgroup.
    ///
    /// # Errors
    /// When its UID can't be part of a cgroup's name.
    pub fn pod(&self, pod: &Pod) -> Result<CgroupName, InvalidPart> {
        self.pod_in(Tier::of(pod), pod.metadata.uid.as_deref().unwrap_or_default())
    }

    /// The cgroup of the pod with this UID and class.
    ///
    /// # Errors
    /// When the UID can't be part of a cgroup's name.
    pub fn pod_in(&self, tier: Tier, uid: &str) -> Result<CgroupName, InvalidPart> {
        self.tier(tier).child(&format!("{POD}{uid}"))
    }

    /// A cgroup's path below the mount points of controllers.
    pub fn path(&self, name: &CgroupName) -> String {
        name.path(self.driver)
    }

    /// The pod that the cgroup at this path is of; none for the tiers and whatever else is there.
    pub fn pod_at(&self, path: &str) -> Option<PodUid> {
        let name = CgroupName::parse(path, self.driver);
        let parts = name.parts();
        // A pod's cgroup is a child of a tier's; the last tier that is as deep as that counts, as upstream has it.
        let depths =
            [Tier::BestEffort, Tier::Burstable, Tier::Guaranteed].map(|tier| self.tier(tier).parts().len());
        let is_child = depths.iter().any(|depth| parts.len() == depth + 1);
        let base = parts.last().filter(|_| is_child)?;
        let uid = base.strip_prefix(POD)?;
        (!uid.is_empty() && !uid.contains(POD)).then(|| PodUid::from(uid))
    }
}

/// Returns what a tier is made with at the start, or set to if it is there. `hugepage_sizes` are the machine's, in bytes.
pub fn first_tier_resources(tier: Tier, hugepage_sizes: &[u64]) -> ResourceConfig {
    ResourceConfig {
        cpu_shares: (tier == Tier::BestEffort).then(|| cpu_shares(0)),
        hugepages: unbounded(hugepage_sizes),
        ..ResourceConfig::default()
    }
}

/// Returns what the tiers are set to while these pods are active: `burstable` weighs as much as its pods ask for, `besteffort` as
/// little as can be.
pub fn tier_configs(
    pods: &[TierPod],
    hugepage_sizes: &[u64],
    memory: TierMemory,
) -> [(Tier, ResourceConfig); 3] {
    let burstable = pods.iter().filter(|pod| pod.tier == Tier::Burstable);
    let milli = burstable.fold(0_i64, |sum, pod| sum.saturating_add(pod.cpu_milli));
    let mut tiers = Tier::ALL.map(|tier| {
        let cpu_shares = match tier {
            Tier::Guaranteed => None,
            Tier::Burstable => Some(cpu_shares(milli)),
            Tier::BestEffort => Some(cpu_shares(0)),
        };
        let hugepages = unbounded(hugepage_sizes);
        (tier, ResourceConfig { cpu_shares, hugepages, ..ResourceConfig::default() })
    });
    memory.add_to(&mut tiers, pods);
    tiers
}

fn unbounded(sizes: &[u64]) -> BTreeMap<u64, u64> {
    sizes.iter().map(|size| (*size, HUGEPAGES_UNBOUNDED)).collect()
}

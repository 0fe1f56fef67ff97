//! Memory that is left, by upstream's formulas (cAdvisor's working set): usage less the inactive pages of files, of the root cgroup
//! for the node, of `kubepods` for all pods together.

use std::path::{Path, PathBuf};

use witlet_core::cgroup::{CgroupName, KUBEPODS};
use witlet_core::runtime::CgroupDriver;
use witlet_core::stats::cgroup_usage::{MemoryUsage, meminfo_bytes, memory_limit};
use witlet_ports::Left;

use super::kernel::read;

/// Where the cgroup of all pods may be, below the mount points of the kernel's controllers: which driver makes cgroups is the
/// runtime's word, which may not be known yet.
#[derive(Clone, Debug)]
pub struct PodsCgroup(Vec<PathBuf>);

impl PodsCgroup {
    /// Below this cgroup (`cgroupRoot`), as a path of the cgroup file system.
    pub fn below(root: &str) -> Self {
        let name = CgroupName::parse(root, CgroupDriver::Cgroupfs).child(KUBEPODS);
        let drivers = [CgroupDriver::Systemd, CgroupDriver::Cgroupfs];
        let path = |driver| name.as_ref().ok().map(|name| name.path(driver).trim_start_matches('/').into());
        Self(drivers.into_iter().filter_map(path).collect())
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter()
    }
}

impl Default for PodsCgroup {
    /// Below the root of all cgroups.
    fn default() -> Self {
        Self::below("/")
    }
}

/// Returns all memory less the root cgroup's working set. Where cgroups can't be read it is reckoned of `/proc/meminfo`: what isn't free, less
/// the inactive pages of files.
pub(super) fn of_node(proc: &Path, cgroups: &Path) -> Option<Left> {
    let meminfo = read(&proc.join("meminfo"))?;
    let bytes = |name: &str| meminfo_bytes(&meminfo, name);
    let capacity = bytes("MemTotal:")?;
    let of_meminfo = || {
        let used = capacity.saturating_sub(bytes("MemFree:")?);
        Some(used.saturating_sub(bytes("Inactive(file):").unwrap_or(0)))
    };
    let root =
        v1(&cgroups.join("memory")).or_else(|| MemoryUsage::of_root_v2(&read(&cgroups.join("memory.stat"))?));
    let working = root.map(|memory| memory.working_set).or_else(of_meminfo)?;
    Some(Left { capacity, available: capacity.saturating_sub(working) })
}

/// Returns all memory of the node, in bytes.
pub(crate) fn capacity(proc: &Path) -> Option<u64> {
    meminfo_bytes(&read(&proc.join("meminfo"))?, "MemTotal:")
}

/// The cgroup of all pods of version 1, and its limit, if it has one.
pub(crate) fn pods_v1(cgroups: &Path, pods: &PodsCgroup) -> Option<(PathBuf, u64)> {
    let folder = pods.paths().map(|name| cgroups.join("memory").join(name)).find(|at| at.exists())?;
    let limit = memory_limit(read(&folder.join("memory.limit_in_bytes")))?;
    Some((folder, limit))
}

/// The cgroup of all pods of version 2.
pub(crate) fn pods_v2(cgroups: &Path, pods: &PodsCgroup) -> Option<PathBuf> {
    pods.paths().map(|name| cgroups.join(name)).find(|at| at.exists())
}

/// The inactive pages of files of a cgroup of version 1 and of all below it, in bytes, as far as its usage counts them.
pub(crate) fn inactive_file_v1(cgroup: &Path) -> Option<u64> {
    let memory = v1(cgroup)?;
    Some(memory.usage?.saturating_sub(memory.working_set))
}

/// What pods may still take: the limit of their cgroup less its working set. None without such a cgroup, or without a limit.
pub(super) fn of_pods(cgroups: &Path, pods: &PodsCgroup) -> Option<Left> {
    let left = |MemoryUsage { limit, working_set, .. }| {
        let available = limit?.saturating_sub(working_set);
        // As upstream has it: what is left and the working set.
        Some(Left { capacity: available.saturating_add(working_set), available })
    };
    pods.paths().find_map(|name| {
        let (folder_v1, folder_v2) = (cgroups.join("memory").join(name), cgroups.join(name));
        let v2 = || MemoryUsage::of_v2(|file| read(&folder_v2.join(file)));
        v1(&folder_v1).and_then(left).or_else(|| v2().and_then(left))
    })
}

fn v1(folder: &Path) -> Option<MemoryUsage> {
    MemoryUsage::of_v1(|file| read(&folder.join(file)))
}

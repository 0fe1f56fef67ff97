//! Memory that is left, by upstream's formulas (cAdvisor's working set): usage less the inactive pages of files, of the root cgroup
//! for the node, of `kubepods` for all pods together.

use std::path::{Path, PathBuf};

use witlet_core::cgroup::{CgroupName, KUBEPODS};
use witlet_core::runtime::CgroupDriver;
use witlet_ports::Left;

use super::kernel::read;

/// A limit above this is none (upstream: `maxMemorySize`).
const LIMIT_MAX: u64 = 1 << 62;
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

/// All memory less the root cgroup's working set. Where cgroups can't be read it is reckoned of `/proc/meminfo`: what isn't free, less
/// the inactive pages of files.
pub(super) fn of_node(proc: &Path, cgroups: &Path) -> Option<Left> {
    let meminfo = read(&proc.join("meminfo"))?;
    let bytes = |name: &str| meminfo_bytes(&meminfo, name);
    let capacity = bytes("MemTotal:")?;
    let of_meminfo = || {
        let used = capacity.saturating_sub(bytes("MemFree:")?);
        Some(used.saturating_sub(bytes("Inactive(file):").unwrap_or(0)))
    };
    let working = root_of_v1(cgroups).or_else(|| root_of_v2(cgroups)).or_else(of_meminfo)?;
    Some(Left { capacity, available: capacity.saturating_sub(working) })
}

/// All memory of the node, in bytes.
pub(crate) fn capacity(proc: &Path) -> Option<u64> {
    meminfo_bytes(&read(&proc.join("meminfo"))?, "MemTotal:")
}

fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The cgroup of all pods of version 1, and its limit, if it has one.
pub(crate) fn pods_v1(cgroups: &Path, pods: &PodsCgroup) -> Option<(PathBuf, u64)> {
    let folder = pods.paths().map(|name| cgroups.join("memory").join(name)).find(|at| at.exists())?;
    let limit = number(&folder.join("memory.limit_in_bytes")).filter(|limit| *limit <= LIMIT_MAX)?;
    Some((folder, limit))
}

/// The cgroup of all pods of version 2.
pub(crate) fn pods_v2(cgroups: &Path, pods: &PodsCgroup) -> Option<PathBuf> {
    pods.paths().map(|name| cgroups.join(name)).find(|at| at.exists())
}

/// The inactive pages of files of a cgroup of version 1 and of all below it, in bytes, as far as its usage counts them.
pub(crate) fn inactive_file_v1(cgroup: &Path) -> Option<u64> {
    let usage = number(&cgroup.join("memory.usage_in_bytes"))?;
    Some(usage.min(stat(cgroup, "total_inactive_file")?))
}

/// What pods may still take: the limit of their cgroup less its working set. None without such a cgroup, or without a limit.
pub(super) fn of_pods(cgroups: &Path, pods: &PodsCgroup) -> Option<Left> {
    pods.paths().find_map(|name| {
        let (v1, v2) = (cgroups.join("memory").join(name), cgroups.join(name));
        let of = |folder: PathBuf, limit: &str, usage: &str, inactive: &str| {
            let limit = number(&folder.join(limit))?;
            let working = number(&folder.join(usage))?.saturating_sub(stat(&folder, inactive)?);
            (limit <= LIMIT_MAX).then(|| {
                let available = limit.saturating_sub(working);
                // As upstream has it: what is left and the working set.
                Left { capacity: available.saturating_add(working), available }
            })
        };
        of(v1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            .or_else(|| of(v2, "memory.max", "memory.current", "inactive_file"))
    })
}

fn root_of_v1(cgroups: &Path) -> Option<u64> {
    let root = cgroups.join("memory");
    let usage = number(&root.join("memory.usage_in_bytes"))?;
    Some(usage.saturating_sub(stat(&root, "total_inactive_file")?))
}

/// The root has no usage of its own in version 2.
fn root_of_v2(cgroups: &Path) -> Option<u64> {
    let usage = stat(cgroups, "anon")?.saturating_add(stat(cgroups, "file")?);
    Some(usage.saturating_sub(stat(cgroups, "inactive_file")?))
}

/// None of `max`, too.
fn number(path: &Path) -> Option<u64> {
    read(path)?.trim().parse().ok()
}

fn stat(cgroup: &Path, name: &str) -> Option<u64> {
    let text = read(&cgroup.join("memory.stat"))?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

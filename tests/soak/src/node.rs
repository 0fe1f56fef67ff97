//! What the kernel says of containers and of folders.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The root of cgroups: of version 2, or of the hierarchies of version 1.
const CGROUPS: &str = "/sys/fs/cgroup";

/// What is mounted below a folder, by paths relative to it.
pub(crate) fn mounts_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    // The fifth field is the mount point; the paths of tests have nothing in them that is escaped there.
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    Ok(points.filter_map(|point| Some(Path::new(point).strip_prefix(folder).ok()?.to_owned())).collect())
}

/// How much of a processor the container may have, in thousandths; none if there is no limit or no such container.
pub(crate) fn cpu_limit(container: &str) -> Option<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let second = Path::new(CGROUPS).join("k8s.io").join(container).join("cpu.max");
    let (quota, period) = match fs::read_to_string(second) {
        Ok(text) => {
            let (quota, period) = text.split_once(' ')?;
            (number(quota)?, number(period)?)
        }
        Err(_) => {
            let first = Path::new(CGROUPS).join("cpu/k8s.io").join(container);
            let read = |name: &str| number(&fs::read_to_string(first.join(name)).ok()?);
            (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
        }
    };
    quota.checked_mul(1000)?.checked_div(period)
}

/// Which of these containers still have a cgroup with a process in it, with the hierarchy. An empty one is left by runc if
/// the agent is killed while a container starts; nothing below the agent has a cgroup of the pod to remove it with.
pub(crate) fn cgroups_of(containers: &BTreeSet<String>) -> io::Result<BTreeSet<String>> {
    let mut hierarchies = vec![PathBuf::from(CGROUPS)];
    for entry in fs::read_dir(CGROUPS)? {
        hierarchies.push(entry?.path());
    }
    let folders =
        hierarchies.iter().map(|hierarchy| hierarchy.join("k8s.io")).filter(|folder| folder.is_dir());
    let left = folders.flat_map(|folder| containers.iter().map(move |container| folder.join(container)));
    let in_use = |folder: &PathBuf| {
        fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|processes| !processes.is_empty())
    };
    Ok(left.filter(in_use).map(|folder| folder.display().to_string()).collect())
}

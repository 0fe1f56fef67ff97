//! Folders and files of cgroups: one tree for each controller in version 1, one tree in version 2.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use witlet_core::cgroup::{
    CgroupFacts, CgroupVersion, FileWrite, PodCgroup, ResourceConfig, WriteKind, cpu_max, number,
    shares_of_weight, writes,
};
use witlet_ports::CgroupError;

/// Trees of version 1 in the order in which upstream's library makes folders in them.
pub(super) const SUBSYSTEMS: [&str; 15] = [
    "cpuset",
    "devices",
    "memory",
    "cpu",
    "cpuacct",
    "pids",
    "blkio",
    "hugetlb",
    "net_cls",
    "net_prio",
    "perf_event",
    "freezer",
    "rdma",
    "systemd",
    "misc",
];
/// Trees of version 1 that a cgroup has to be in to be there.
const CHECKED_V1: [&str; 7] = ["cpu", "cpuacct", "cpuset", "memory", "systemd", "pids", "hugetlb"];
/// Controllers of version 2 that a cgroup has to have, as far as the root has them.
const CHECKED_V2: [&str; 5] = ["cpu", "cpuset", "hugetlb", "memory", "pids"];
/// Trees of version 1 without which the agent doesn't start.
const REQUIRED_V1: [&str; 4] = ["cpu", "cpuacct", "cpuset", "memory"];

/// What is mounted.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) facts: CgroupFacts,
    /// Mount points by controller; of version 2 one, without a name.
    mounts: BTreeMap<String, PathBuf>,
    /// A tree of version 2 next to those of version 1. It holds no limits, but runtimes put containers there, too.
    unified: Option<PathBuf>,
}

impl Tree {
    pub(super) fn new(
        facts: CgroupFacts,
        mounts: BTreeMap<String, PathBuf>,
        unified: Option<PathBuf>,
    ) -> Self {
        Self { facts, mounts, unified }
    }

    pub(super) fn check_controllers(&self) -> Result<(), CgroupError> {
        let has = |name: &str| self.facts.controllers.contains(name);
        let missing: Vec<&str> = match self.facts.version {
            CgroupVersion::V1 => REQUIRED_V1.into_iter().filter(|name| !has(name)).collect(),
            CgroupVersion::V2 => Vec::new(),
        };
        if missing.is_empty() {
            Ok(())
        } else {
            Err(CgroupError::NotMounted { controllers: missing.join(" ") })
        }
    }

    fn folder(&self, controller: &str, path: &str) -> Option<PathBuf> {
        let key = match self.facts.version {
            CgroupVersion::V1 => controller,
            CgroupVersion::V2 => "",
        };
        Some(self.mounts.get(key)?.join(path.trim_start_matches('/')))
    }

    /// The cgroup's folders in all trees, each once.
    pub(super) fn folders(&self, path: &str) -> Vec<PathBuf> {
        let mounts = self.mounts.values().chain(&self.unified);
        let all: BTreeSet<PathBuf> = mounts.map(|mount| mount.join(path.trim_start_matches('/'))).collect();
        all.into_iter().collect()
    }

    /// The cgroup's folder where the processes of all trees are counted: of memory in version 1.
    pub(super) fn first_folder(&self, path: &str) -> Option<PathBuf> {
        self.folder("memory", path)
    }

    pub(super) fn validate(&self, path: &str) -> Result<(), CgroupError> {
        match self.facts.version {
            CgroupVersion::V1 => {
                let checked = CHECKED_V1.iter().filter_map(|controller| self.folder(controller, path));
                let missing: Vec<String> = checked
                    .filter(|folder| !folder.exists())
                    .map(|folder| folder.display().to_string())
                    .collect();
                if missing.is_empty() {
                    return Ok(());
                }
                Err(CgroupError::MissingPaths { name: path.to_owned(), paths: missing.join(", ") })
            }
            CgroupVersion::V2 => {
                let listed = self.folder("", path).map(|folder| read(&folder, "cgroup.controllers"));
                let listed = listed.transpose().map_err(|cause| CgroupError::UnreadControllers {
                    name: path.to_owned(),
                    cause: Box::new(cause),
                })?;
                let listed = listed.unwrap_or_default();
                let has: BTreeSet<&str> = listed.split_whitespace().collect();
                let needed = CHECKED_V2.into_iter().filter(|name| self.facts.controllers.contains(*name));
                let missing: Vec<&str> = needed.filter(|name| !has.contains(name)).collect();
                if missing.is_empty() {
                    return Ok(());
                }
                Err(CgroupError::MissingControllers {
                    name: path.to_owned(),
                    controllers: missing.join(", "),
                })
            }
        }
    }

    /// Makes the cgroup's folders with those above.
    pub(super) fn make(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        match self.facts.version {
            CgroupVersion::V1 => {
                for controller in SUBSYSTEMS {
                    let Some(mount) = self.mounts.get(controller) else { continue };
                    for folder in on_the_way(mount, path) {
                        make_folder(&folder)?;
                        if controller == "cpuset" {
                            inherit_cpuset(&folder)?;
                        }
                    }
                }
                self.set_cpus_first(path, config)
            }
            CgroupVersion::V2 => {
                let Some(mount) = self.mounts.values().next() else { return Err(CgroupError::NoMounts) };
                let mut parent = mount.clone();
                for folder in on_the_way(mount, path) {
                    self.pass_controllers_on(&parent);
                    make_folder(&folder)?;
                    parent = folder;
                }
                Ok(())
            }
        }
    }

    /// Upstream's library sets CPUs that are given before anything else.
    fn set_cpus_first(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        match (&config.cpus, self.folder("cpuset", path)) {
            (Some(cpus), Some(folder)) => write(&folder, "cpuset.cpus", cpus),
            _ => Ok(()),
        }
    }

    /// All controllers of the root, together or else one by one. What can't be had shows when it is set.
    fn pass_controllers_on(&self, folder: &Path) {
        let all: Vec<String> = self.facts.controllers.iter().map(|name| format!("+{name}")).collect();
        if all.is_empty() || write(folder, "cgroup.subtree_control", &all.join(" ")).is_ok() {
            return;
        }
        for one in all {
            if let Err(error) = write(folder, "cgroup.subtree_control", &one) {
                tracing::debug!(%error, "Failed to enable cgroup controller");
            }
        }
    }

    /// Writes what the configuration has, in order. The first failure ends it.
    pub(super) fn set(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let mut again: Option<(PathBuf, FileWrite)> = None;
        for change in writes(config, &self.facts) {
            let Some(folder) = self.folder(change.controller, path) else {
                let problem = format!("cannot set {} limit: no such controller", change.controller);
                return Err(CgroupError::Value { path: path.to_owned(), problem });
            };
            match (write(&folder, &change.file, &change.value), change.kind) {
                (Ok(()), WriteKind::Shares) => check_shares(&folder, &change)?,
                (Ok(()), _) => {}
                (Err(error), WriteKind::IfPresent) if error.is_not_found() => {}
                (Err(_), WriteKind::Period) => {
                    again = Some((folder, change));
                    continue;
                }
                (Err(error), _) => return Err(error),
            }
            if let Some((folder, change)) = again.take() {
                write(&folder, &change.file, &change.value)?;
            }
        }
        Ok(())
    }

    pub(super) fn read(&self, path: &str) -> Result<PodCgroup, CgroupError> {
        let folder = |controller: &str| {
            let none = || CgroupError::NotMounted { controllers: controller.to_owned() };
            self.folder(controller, path).ok_or_else(none)
        };
        let (cpu, memory) = (folder("cpu")?, folder("memory")?);
        match self.facts.version {
            CgroupVersion::V1 => Ok(PodCgroup {
                cpu_shares: figure(&cpu, "cpu.shares")?,
                cpu_weight: None,
                cpu_quota_us: figure(&cpu, "cpu.cfs_quota_us")?,
                cpu_period_us: figure(&cpu, "cpu.cfs_period_us")?,
                memory_limit_bytes: figure(&memory, "memory.limit_in_bytes")?,
                memory_usage_bytes: Some(figure(&memory, "memory.usage_in_bytes")?),
            }),
            CgroupVersion::V2 => {
                let weight = figure(&cpu, "cpu.weight")?;
                let max = read(&cpu, "cpu.max")?;
                let (cpu_quota_us, cpu_period_us) =
                    cpu_max(&max).map_err(|error| malformed(&cpu.join("cpu.max"), &error))?;
                Ok(PodCgroup {
                    cpu_shares: shares_of_weight(weight),
                    cpu_weight: Some(weight),
                    cpu_quota_us,
                    cpu_period_us,
                    memory_limit_bytes: figure(&memory, "memory.max")?,
                    memory_usage_bytes: Some(figure(&memory, "memory.current")?),
                })
            }
        }
    }

    /// Removes the cgroup's folders in all trees with those below. Tries all, and gives the first error back.
    pub(super) fn remove(&self, path: &str) -> Result<(), CgroupError> {
        if path.trim_matches('/').is_empty() {
            let problem = "the root cgroup must not be removed".to_owned();
            return Err(CgroupError::Value { path: path.to_owned(), problem });
        }
        let removed: Vec<Result<(), CgroupError>> =
            self.folders(path).iter().map(|folder| remove_folder(folder)).collect();
        removed.into_iter().collect()
    }

    pub(super) fn children(&self, path: &str) -> Result<Vec<String>, CgroupError> {
        let mut names = BTreeSet::new();
        for folder in self.folders(path) {
            match fs::read_dir(&folder) {
                Ok(entries) => {
                    let folders =
                        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                    names.extend(folders.filter_map(|entry| entry.file_name().into_string().ok()));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("read", &folder, &error)),
            }
        }
        let parent = path.trim_end_matches('/');
        Ok(names.into_iter().map(|name| format!("{parent}/{name}")).collect())
    }
}

/// The folders from below the mount point to the cgroup's own.
fn on_the_way(mount: &Path, path: &str) -> Vec<PathBuf> {
    let mut folder = mount.to_owned();
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            folder.push(part);
            folder.clone()
        })
        .collect()
}

fn make_folder(folder: &Path) -> Result<(), CgroupError> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed("mkdir", folder, &error)),
    }
}

/// The kernel makes cpusets empty, and no process can be in one: what is empty is taken over from above.
fn inherit_cpuset(folder: &Path) -> Result<(), CgroupError> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if read(folder, file)?.trim().is_empty() {
            write(folder, file, read(parent, file)?.trim())?;
        }
    }
    Ok(())
}

fn check_shares(folder: &Path, change: &FileWrite) -> Result<(), CgroupError> {
    let allowed = figure(folder, &change.file)?;
    let asked: i64 = change.value.parse().unwrap_or(allowed);
    match asked.cmp(&allowed) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(CgroupError::Shares { bound: "maximum", allowed }),
        std::cmp::Ordering::Less => Err(CgroupError::Shares { bound: "minimum", allowed }),
    }
}

fn figure(folder: &Path, file: &str) -> Result<i64, CgroupError> {
    number(&read(folder, file)?).map_err(|error| malformed(&folder.join(file), &error))
}

fn malformed(path: &Path, error: &impl std::fmt::Display) -> CgroupError {
    CgroupError::Value { path: path.display().to_string(), problem: error.to_string() }
}

fn read(folder: &Path, file: &str) -> Result<String, CgroupError> {
    let path = folder.join(file);
    fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))
}

/// The kernel takes a value in one write. Its files are there from the beginning; none is made.
fn write(folder: &Path, file: &str, value: &str) -> Result<(), CgroupError> {
    let path = folder.join(file);
    let written = OpenOptions::new()
        .write(true)
        .truncate(true)
        .create(cfg!(test) && folder.exists())
        .open(&path)
        .and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| CgroupError::File {
        action: "write",
        path: format!("{value:?} to {}", path.display()),
        problem: error.to_string(),
        not_found: error.kind() == io::ErrorKind::NotFound,
    })
}

/// The folders directly in this one.
pub(super) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// A folder of the kernel's is removed although files are in it; folders below go first.
fn remove_folder(folder: &Path) -> Result<(), CgroupError> {
    match fs::remove_dir(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => {}
    }
    for child in folders_in(folder) {
        remove_folder(&child)?;
    }
    #[cfg(test)]
    remove_files(folder);
    match fs::remove_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("rmdir", folder, &error)),
    }
}

pub(super) fn failed(action: &'static str, path: &Path, error: &io::Error) -> CgroupError {
    CgroupError::File {
        action,
        path: path.display().to_string(),
        problem: error.to_string(),
        not_found: error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
/// Kernel files go with their folder; plain ones have to be removed first.
fn remove_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // The kernel refuses that for its own, which need it not.
            let _refused = fs::remove_file(entry.path());
        }
    }
}

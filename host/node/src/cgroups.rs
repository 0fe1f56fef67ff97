//! Cgroups through their file system, of either version: the driver `cgroupfs`.

mod processes;
mod systemd;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::cgroup::{CgroupFacts, CgroupVersion, PodCgroup, ResourceConfig};
use witlet_core::container::backoff::BackoffPolicy;
use witlet_ports::{CgroupError, Cgroups};

pub use systemd::SystemdCgroups;
use tree::{SUBSYSTEMS, Tree};

/// Where the kernel's cgroups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";
const HUGEPAGES: &str = "/sys/kernel/mm/hugepages";
/// A cgroup is tried to be removed this often: processes that were killed take a moment to be gone.
const REMOVALS_MAX: u32 = 6;
/// The pauses between them.
const REMOVAL_PAUSES: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(10), max: Duration::from_millis(160) };
/// How often processes are looked for and killed (upstream: 5).
const KILLS_MAX: u32 = 5;

/// The kernel's cgroups.
#[derive(Clone, Debug)]
pub struct CgroupFs {
    tree: Arc<Tree>,
}

/// What the node has in addition to its capacity that cgroups are limited by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupResources {
    /// How many processes and threads the machine takes: the lesser of `kernel.pid_max` and `kernel.threads-max`.
    pub pids: Option<i64>,
    /// CPUs that are online, in the kernel's list form.
    pub cpus: String,
    /// Size of a page of memory in bytes.
    pub page_bytes: i64,
}

impl CgroupResources {
    /// Reads the machine. What can't be read is left out.
    pub fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
        let number = |path: &str| text(path)?.parse::<i64>().ok();
        let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"];
        Self {
            pids: limits.into_iter().filter_map(number).min(),
            cpus: text("/sys/devices/system/cpu/online").unwrap_or_default(),
            // A page is some KiB.
            page_bytes: i64::try_from(rustix::param::page_size()).unwrap_or(i64::MAX),
        }
    }
}

impl CgroupFs {
    /// The machine's own.
    ///
    /// # Errors
    /// When none are mounted.
    pub fn system() -> Result<Self, CgroupError> {
        Self::open(Path::new(MOUNT), Path::new(HUGEPAGES))
    }

    /// Those that are mounted at this folder.
    pub(crate) fn open(mount: &Path, hugepages: &Path) -> Result<Self, CgroupError> {
        let hugepage_sizes = hugepage_sizes(hugepages);
        if let Ok(controllers) = fs::read_to_string(mount.join("cgroup.controllers")) {
            let controllers = controllers.split_whitespace().map(str::to_owned).collect();
            let facts = CgroupFacts { version: CgroupVersion::V2, controllers, hugepage_sizes };
            let mounts = BTreeMap::from([(String::new(), mount.to_owned())]);
            return Ok(Self { tree: Arc::new(Tree::new(facts, mounts, None)) });
        }
        let mounts = mounts_of_v1(mount);
        if mounts.is_empty() {
            return Err(CgroupError::NoMounts);
        }
        let unified = Some(mount.join("unified")).filter(|path| path.join("cgroup.controllers").exists());
        let controllers: BTreeSet<String> = mounts.keys().cloned().collect();
        let facts = CgroupFacts { version: CgroupVersion::V1, controllers, hugepage_sizes };
        Ok(Self { tree: Arc::new(Tree::new(facts, mounts, unified)) })
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tree) -> Result<T, CgroupError> + Send + 'static,
    ) -> Result<T, CgroupError> {
        let tree = self.tree.clone();
        match tokio::task::spawn_blocking(move || work(&tree)).await {
            Ok(result) => result,
            // Only a runtime that is shutting down doesn't finish the work.
            Err(error) => Err(CgroupError::Lost(error.to_string())),
        }
    }
}

#[async_trait]
impl Cgroups for CgroupFs {
    fn facts(&self) -> &CgroupFacts {
        &self.tree.facts
    }

    async fn check_controllers(&self) -> Result<(), CgroupError> {
        self.tree.check_controllers()
    }

    async fn validate(&self, path: &str) -> Result<(), CgroupError> {
        let path = path.to_owned();
        self.work(move |tree| tree.validate(&path)).await
    }

    async fn create(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let (path, config) = (path.to_owned(), config.clone());
        self.work(move |tree| {
            tree.make(&path, &config)?;
            if let Err(error) = tree.set(&path, &config) {
                tracing::error!(cgroup = path, %error, "cgroup manager.Set failed");
            }
            Ok(())
        })
        .await
    }

    async fn update(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let (path, config) = (path.to_owned(), config.clone());
        self.work(move |tree| tree.set(&path, &config)).await
    }

    async fn read(&self, path: &str) -> Result<PodCgroup, CgroupError> {
        let path = path.to_owned();
        self.work(move |tree| tree.read(&path)).await
    }

    async fn remove(&self, path: &str) -> Result<(), CgroupError> {
        let of = path.to_owned();
        self.work(move |tree| processes::kill_all(&of, &tree.folders(&of), KILLS_MAX)).await?;
        self.remove_folders(path).await
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, CgroupError> {
        let path = path.to_owned();
        self.work(move |tree| tree.children(&path)).await
    }
}

impl CgroupFs {
    /// Puts a process into the cgroup, which is made if it isn't there. One that is gone is fine.
    pub(crate) async fn add_process(&self, path: &str, pid: i32) -> Result<(), CgroupError> {
        let path = path.to_owned();
        self.work(move |tree| {
            tree.make(&path, &ResourceConfig::default())?;
            processes::add(&tree.folders(&path), pid)
        })
        .await
    }

    /// The processes in the cgroup itself, in any tree that has limits.
    pub(crate) async fn processes(&self, path: &str) -> Result<BTreeSet<i32>, CgroupError> {
        let path = path.to_owned();
        self.work(move |tree| {
            tree.first_folder(&path).map_or(Ok(BTreeSet::new()), |folder| processes::of(&folder))
        })
        .await
    }

    async fn remove_folders(&self, path: &str) -> Result<(), CgroupError> {
        let mut tries = 1;
        loop {
            let of = path.to_owned();
            let removed = self.work(move |tree| tree.remove(&of)).await;
            if removed.is_ok() || tries >= REMOVALS_MAX {
                return removed;
            }
            tokio::time::sleep(REMOVAL_PAUSES.after(tries)).await;
            tries += 1;
        }
    }
}

/// The folders of trees by the controllers in them. Links next to them (`cpu` for `cpu,cpuacct`) lead to the same trees.
fn mounts_of_v1(mount: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Ok(name) = entry.file_name().into_string() else { continue };
        // What isn't mounted has no file of the kernel in it.
        if !is_folder || !entry.path().join("cgroup.procs").exists() {
            continue;
        }
        for controller in name.split(',').filter(|name| SUBSYSTEMS.contains(name)) {
            found.insert(controller.to_owned(), entry.path());
        }
    }
    found
}

/// Bytes, by folders such as `hugepages-2048kB`.
fn hugepage_sizes(folder: &Path) -> Vec<u64> {
    let size = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut sizes: Vec<u64> = entries.filter_map(|entry| size(entry.ok()?)).collect();
    sizes.sort_unstable();
    sizes
}

//! What the machine has left of memory, disk and process ids, read of the kernel when it is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use witlet_core::eviction::Filesystems;
use witlet_ports::{ImageFilesystem, ImageStore, Left, NodeImage, NodeReader, NodeReadings};

use crate::file_systems::{bytes, measure_nearest, nearest};
use kernel::read;
use memory::PodsCgroup;

pub(crate) mod kernel;
pub(crate) mod memory;
#[cfg(test)]
mod tests;

/// One check takes at most this long; what wasn't read by then is unknown.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// The runtime is asked for this long where its images are, and which.
const IMAGES_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is asked where they are.
const FOLDER_REFRESH: Duration = Duration::from_secs(600);

/// Checks the machine that it runs on.
pub struct SystemNodeReader {
    root: PathBuf,
    images: Arc<dyn ImageStore>,
    pods: PodsCgroup,
    /// Where images and writable layers are, and when that was asked.
    folders: Mutex<Option<(Instant, Option<Folders>)>>,
    /// One check at a time: a file system that hangs must not gather threads.
    measuring: Arc<Mutex<()>>,
}

/// Folders of the runtime.
#[derive(Clone, Debug)]
struct Folders {
    images: PathBuf,
    /// Of writable layers; where the runtime doesn't say they lie with the images.
    containers: PathBuf,
}

impl SystemNodeReader {
    /// `root` is the agent's folder; one that isn't there yet counts as the nearest that is.
    pub fn new(root: PathBuf, images: Arc<dyn ImageStore>, pods: PodsCgroup) -> Self {
        Self { root, images, pods, folders: Mutex::default(), measuring: Arc::default() }
    }

    /// Where images and writable layers are; none while the runtime doesn't say.
    async fn runtime_folders(&self) -> Option<Folders> {
        let mut folders = self.folders.lock().await;
        if let Some((at, known)) = &*folders
            && at.elapsed() < FOLDER_REFRESH
        {
            return known.clone();
        }
        match timeout(IMAGES_TIMEOUT, self.images.filesystems()).await {
            Ok(Ok(found)) => {
                let first =
                    |systems: Vec<ImageFilesystem>| systems.into_iter().next().map(|first| first.mountpoint);
                let containers = first(found.containers);
                let found = first(found.images).map(|images| {
                    let containers = containers.unwrap_or_else(|| images.clone());
                    Folders { images, containers }
                });
                *folders = Some((Instant::now(), found.clone()));
                found
            }
            // A runtime that is down keeps its images where they were.
            Ok(Err(_)) | Err(_) => folders.as_ref().and_then(|(_, known)| known.clone()),
        }
    }
}

#[async_trait]
impl NodeReader for SystemNodeReader {
    async fn read(&self) -> NodeReadings {
        let (root, folders) = (self.root.clone(), self.runtime_folders().await);
        let reading = async {
            let turn = self.measuring.clone().lock_owned().await;
            let pods = self.pods.clone();
            let measure = move || {
                let kernel = (Path::new("/proc"), Path::new("/sys/fs/cgroup"));
                (readings(kernel, &pods, &root, folders.as_ref()), turn)
            };
            tokio::task::spawn_blocking(measure).await
        };
        match timeout(READ_TIMEOUT, reading).await {
            Ok(Ok((readings, _turn))) => readings,
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(_)) => NodeReadings::default(),
            Err(_) => {
                tracing::warn!(timeout = ?READ_TIMEOUT, "Timed out reading node resources");
                NodeReadings::default()
            }
        }
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        timeout(IMAGES_TIMEOUT, self.images.list()).await.ok()?.ok()
    }
}

/// `proc` and `cgroups` are where the kernel's files are; `folders` are the runtime's, if they are known.
fn readings(
    (proc, cgroups): (&Path, &Path),
    pods: &PodsCgroup,
    root: &Path,
    folders: Option<&Folders>,
) -> NodeReadings {
    let (nodefs_bytes, nodefs_inodes) = file_system(root);
    let (imagefs_bytes, imagefs_inodes) = folders.map_or((None, None), |all| file_system(&all.images));
    let (containerfs_bytes, containerfs_inodes) =
        folders.map_or((None, None), |all| file_system(&all.containers));
    NodeReadings {
        memory: memory::of_node(proc, cgroups),
        allocatable_memory: memory::of_pods(cgroups, pods),
        nodefs_bytes,
        nodefs_inodes,
        imagefs_bytes,
        imagefs_inodes,
        containerfs_bytes,
        containerfs_inodes,
        filesystems: folders.and_then(|folders| filesystems(root, folders)),
        pids: pids(
            read(&proc.join("sys/kernel/pid_max")).as_deref(),
            read(&proc.join("sys/kernel/threads-max")).as_deref(),
            read(&proc.join("loadavg")).as_deref(),
        ),
        cpu: cpu(cgroups),
    }
}

/// Which of the folders are on one file system; none if one can't be read.
fn filesystems(root: &Path, folders: &Folders) -> Option<Filesystems> {
    let device = |path: &Path| rustix::fs::stat(nearest(path)?).ok().map(|stat| stat.st_dev);
    Some(Filesystems::of(&device(root)?, &device(&folders.images)?, &device(&folders.containers)?))
}

/// The smaller of the kernel's two limits, less the threads there are (the second figure of `0.0 0.1 0.2 3/456 789`).
pub(crate) fn pids(pid_max: Option<&str>, threads_max: Option<&str>, loadavg: Option<&str>) -> Option<Left> {
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u64>().ok());
    let capacity = [number(pid_max), number(threads_max)].into_iter().flatten().min()?;
    let running = loadavg?.split_whitespace().nth(3)?.split_once('/')?.1.parse::<u64>().ok()?;
    Some(Left { capacity, available: capacity.saturating_sub(running) })
}

/// Processor time of the root cgroup, of either version.
fn cpu(cgroups: &Path) -> Option<Duration> {
    let v1 = || read(&cgroups.join("cpuacct/cpuacct.usage"))?.trim().parse().ok().map(Duration::from_nanos);
    let v2 = || {
        let text = read(&cgroups.join("cpu.stat"))?;
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        usage.trim().parse().ok().map(Duration::from_micros)
    };
    v1().or_else(v2)
}

/// Bytes and inodes of the file system that a folder is on; no inodes where it has no fixed number of them.
fn file_system(folder: &Path) -> (Option<Left>, Option<Left>) {
    let Some(measured) = measure_nearest(folder) else { return (None, None) };
    let inodes = Left { capacity: measured.inodes, available: measured.inodes_free };
    let is_there = |left: Left| (left.capacity > 0).then_some(left);
    (is_there(bytes(&measured)), is_there(inodes))
}

//! How much disk pods' folders take (upstream: `volume/util/fs`, `metrics_du.go`).
//!
//! A tree is walked by open folders, never by path, so that what a pod renames meanwhile leads nowhere else: no link is followed, no
//! other file system entered. Each inode counts once.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Pod, Volume};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use witlet_core::container::plan::container_names;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::stats::{FsUsage, LocalStorage, volumes};
use witlet_ports::StorageMeter;

use crate::file_systems::measure;
use crate::is_folder_name;

#[cfg(test)]
mod tests;

/// Bytes of a block of `st_blocks`, whatever the file system's own blocks are.
const BLOCK: u64 = 512;
/// Folders that are open at the same time: what lies deeper isn't counted. A path of the kernel's has fewer levels.
const LEVELS_MAX: usize = 4096;
/// One pod is measured for so long at most; what isn't counted by then is unknown.
const MEASURE_MAX: Duration = Duration::from_secs(60);
/// What was counted by then is waited for so much longer: only a file system that hangs takes that.
const GRACE: Duration = Duration::from_secs(1);

/// Adds up what lies in pods' folders.
#[derive(Clone, Debug)]
pub struct DiskUsage {
    pods: PathBuf,
    logs: PathBuf,
    /// One measurement of a pod's folders at a time: a file system that hangs must not gather threads.
    locks: Arc<Mutex<BTreeMap<PodUid, PodLock>>>,
}

/// Held by the thread that measures.
type PodLock = Arc<AsyncMutex<()>>;

impl DiskUsage {
    /// `root` is the agent's own folder, `logs` the one that all pods' logs are in.
    pub fn new(root: &Path, logs: &Path) -> Self {
        Self { pods: root.join("pods"), logs: logs.to_owned(), locks: Arc::default() }
    }

    /// The pod's. Those that neither a thread nor a caller holds are forgotten.
    fn lock_of(&self, uid: PodUid) -> PodLock {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        locks.entry(uid).or_default().clone()
    }
}

#[async_trait]
impl StorageMeter for DiskUsage {
    async fn measure(&self, pod: &Pod) -> LocalStorage {
        let paths = PodPaths::of(self, pod);
        let (deadline, lock) = (Instant::now() + MEASURE_MAX, self.lock_of(PodUid::of(pod)));
        let measuring = async {
            let turn = lock.lock_owned().await;
            let measure = move || {
                let measured = paths.measure(deadline);
                drop(turn);
                measured
            };
            tokio::task::spawn_blocking(measure).await
        };
        // Only a runtime that is shutting down doesn't finish the work. A file system that hangs keeps its thread.
        match timeout(MEASURE_MAX + GRACE, measuring).await {
            Ok(Ok(measured)) => measured,
            Ok(Err(_)) | Err(_) => LocalStorage::default(),
        }
    }
}

/// What is to be added up of one pod.
#[derive(Default)]
struct PodPaths {
    volumes: Vec<(String, PathBuf)>,
    /// The folders of its containers' logs.
    logs: Vec<(String, PathBuf)>,
    /// Its file of hosts, and the folder of its logs, whose own files count.
    own: Option<(PathBuf, PathBuf)>,
}

impl PodPaths {
    fn of(usage: &DiskUsage, pod: &Pod) -> Self {
        let (uid, full_name) = (PodUid::of(pod), PodFullName::of(pod));
        let logs_name = format!("{}_{}_{uid}", full_name.namespace, full_name.name);
        // Names reach here validated; this is checked a second time.
        if !is_folder_name(uid.as_str()) || !is_folder_name(&logs_name) {
            return Self::default();
        }
        let folder = usage.pods.join(uid.as_str());
        let volume = |volume: &Volume| {
            let plugin = plugin(volume)?;
            let path = folder.join("volumes").join(plugin).join(&volume.name);
            is_folder_name(&volume.name).then(|| (volume.name.clone(), path))
        };
        let logs = usage.logs.join(logs_name);
        let names = container_names(pod).filter(|name| is_folder_name(name));
        Self {
            volumes: volumes(pod).filter_map(volume).collect(),
            logs: names.map(|name| (name.to_owned(), logs.join(name))).collect(),
            own: Some((folder.join("etc-hosts"), logs)),
        }
    }

    /// Volumes last, which take longest.
    fn measure(self, deadline: Instant) -> LocalStorage {
        let of_logs = |path: &Path| known(path, files_in(path, deadline));
        let of_tree = |path: &Path| known(path, usage(path, deadline));
        let own = self.own.into_iter().flat_map(|(hosts, logs)| [of_tree(&hosts), of_logs(&logs)]);
        let mut storage = LocalStorage {
            own: own.flatten().fold(FsUsage::new(0, 0), sum),
            logs: self.logs.into_iter().filter_map(|(name, path)| Some((name, of_logs(&path)?))).collect(),
            ..LocalStorage::default()
        };
        for (name, path) in self.volumes {
            let Some(used) = of_tree(&path) else { continue };
            if let Ok(system) = measure(&path) {
                storage.systems.insert(name.clone(), system);
            }
            storage.volumes.insert(name, used);
        }
        storage
    }
}

fn sum(a: FsUsage, b: FsUsage) -> FsUsage {
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    FsUsage { bytes: add(a.bytes, b.bytes), inodes: add(a.inodes, b.inodes) }
}

/// The folder of the kinds of volumes that have one of their own on the node (upstream measures no others).
fn plugin(volume: &Volume) -> Option<&'static str> {
    let kinds = [
        (volume.empty_dir.is_some(), "kubernetes.io~empty-dir"),
        (volume.config_map.is_some(), "kubernetes.io~configmap"),
        (volume.secret.is_some(), "kubernetes.io~secret"),
        (volume.downward_api.is_some(), "kubernetes.io~downward-api"),
        (volume.projected.is_some(), "kubernetes.io~projected"),
    ];
    kinds.into_iter().find_map(|(is_it, folder)| is_it.then_some(folder))
}

/// None of what isn't there, or can't be read to its end.
fn known(path: &Path, measured: io::Result<FsUsage>) -> Option<FsUsage> {
    let missing = io::ErrorKind::NotFound;
    let failed = |error: &io::Error| tracing::debug!(path = %path.display(), %error, "Failed to measure");
    measured
        .inspect_err(|error| {
            if error.kind() != missing {
                failed(error)
            }
        })
        .ok()
}

/// What the files of a folder take, without the folder and those in it (upstream: `fileMetricsByDir`).
fn files_in(path: &Path, deadline: Instant) -> io::Result<FsUsage> {
    let mut counted = Counted::default();
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    each_entry(folder.as_fd(), deadline, |_, stat| {
        if !is_folder(stat) {
            counted.add(stat);
        }
    })?;
    Ok(FsUsage::new(counted.bytes, counted.inodes))
}

/// What a folder takes with all that is in it, or a file.
fn usage(path: &Path, deadline: Instant) -> io::Result<FsUsage> {
    let mut counted = Counted::default();
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&top)?;
    counted.add(&stat);
    if is_folder(&stat) {
        let name = CString::new(path.as_os_str().as_encoded_bytes())?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        counted.walk(rustix::fs::openat(CWD, &name, flags, Mode::empty())?, deadline)?;
    }
    Ok(FsUsage::new(counted.bytes, counted.inodes))
}

#[derive(Default)]
struct Counted {
    bytes: u64,
    inodes: u64,
    /// Inodes with several names that were counted.
    linked: HashSet<u64>,
}

impl Counted {
    #[allow(clippy::useless_conversion, reason = "the fields have other types on other machines")]
    fn add(&mut self, stat: &rustix::fs::Stat) {
        if !is_folder(stat) && stat.st_nlink > 1 && !self.linked.insert(stat.st_ino) {
            return;
        }
        self.inodes += 1;
        self.bytes =
            self.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK));
    }

    /// Depth first. What vanishes meanwhile isn't counted.
    fn walk(&mut self, top: OwnedFd, deadline: Instant) -> io::Result<()> {
        let mut open = vec![(self.entries(top.as_fd(), deadline)?, top)];
        while let Some((folders, folder)) = open.last_mut() {
            let Some(name) = folders.pop() else {
                open.pop();
                continue;
            };
            let Some(inner) = enter(folder.as_fd(), &name)? else { continue };
            if open.len() < LEVELS_MAX {
                open.push((self.entries(inner.as_fd(), deadline)?, inner));
            }
        }
        Ok(())
    }

    /// Counts what is in the folder, and gives the folders among it.
    fn entries(&mut self, folder: BorrowedFd<'_>, deadline: Instant) -> io::Result<Vec<CString>> {
        let mut folders = Vec::new();
        each_entry(folder, deadline, |name, stat| {
            self.add(stat);
            if is_folder(stat) {
                folders.push(name.to_owned());
            }
        })?;
        Ok(folders)
    }
}

fn is_folder(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Shows what is in a folder. What vanishes meanwhile isn't shown.
fn each_entry(
    folder: BorrowedFd<'_>,
    deadline: Instant,
    mut show: impl FnMut(&CStr, &rustix::fs::Stat),
) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            stat => show(name, &stat?),
        }
    }
    Ok(())
}

/// Returns `None` for a folder that is gone, is a link by now, or is on another file system.
fn enter(parent: BorrowedFd<'_>, name: &CString) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

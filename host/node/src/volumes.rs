//! Volumes on this machine: folders, mounts in memory, files that the agent writes, and places below them.

mod atomic;
mod empty_dir;
mod host_path;
mod locks;
mod ownership;
mod read;
mod sub_path;

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::pod::PodUid;
use witlet_core::volume::{FilesMedium, Ownership, SubPath, VolumeFile, VolumeKind, VolumeSetUp};
use witlet_ports::{Clock, VolumeError, Volumes};

use crate::clock::SystemClock;
use crate::is_folder_name;
use crate::mounts::{unmount_at, unmount_below};
use crate::tree::remove_tree;
use locks::{Part, VolumeLocks, VolumePermit};

#[cfg(test)]
mod tests;

/// How often unmounting is tried in one call while something uses the mount, which it does just after a container ended.
const UNMOUNT_ATTEMPTS: u32 = 5;
/// How long to wait between.
const UNMOUNT_PAUSE: Duration = Duration::from_millis(100);

const VOLUMES: &str = "volumes";
const SUB_PATHS: &str = "volume-subpaths";
const EMPTY_DIR: &str = "kubernetes.io~empty-dir";

/// Volumes below `<root>/pods/<uid>`, in upstream's layout: `volumes/<plugin>/<name>`, and the places below them that
/// containers mount in `volume-subpaths/<volume>/<container>/<index>`.
///
/// Without privileges, folders, files and paths on the host work; what needs a mount fails with the kernel's error,
/// except that the agent's files then are on disk.
#[derive(Clone, Debug)]
pub struct NodeVolumes {
    pods: PathBuf,
    locks: VolumeLocks,
}

impl NodeVolumes {
    /// `root` is the agent's own folder (upstream: `/var/lib/kubelet`).
    pub fn new(root: &Path) -> Self {
        Self { pods: root.join("pods"), locks: VolumeLocks::new() }
    }

    fn pod(&self, uid: &PodUid) -> Result<PathBuf, VolumeError> {
        named(&self.pods, uid.as_str())
    }
}

#[async_trait]
impl Volumes for NodeVolumes {
    async fn set_up(&self, uid: &PodUid, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError> {
        let pod = self.pod(uid)?;
        let volume = volume.clone();
        let part = match &volume.kind {
            VolumeKind::HostPath { .. } => Part::Host,
            VolumeKind::EmptyDir
            | VolumeKind::Tmpfs { .. }
            | VolumeKind::HugePages { .. }
            | VolumeKind::Files { .. } => Part::Own,
        };
        let permit = self.locks.acquire(uid, part).await;
        blocking(permit, &pod.clone(), move || set_up(&pod, &volume)).await
    }

    async fn written(&self, uid: &PodUid, plugin: &str, name: &str) -> Result<Option<PathBuf>, VolumeError> {
        let path = named(&named(&self.pod(uid)?.join(VOLUMES), plugin)?, name)?;
        let permit = self.locks.acquire(uid, Part::Own).await;
        blocking(permit, &path.clone(), move || match atomic::is_written(&path) {
            Ok(true) => Ok(Some(path)),
            Ok(false) => Ok(None),
            Err(error) => Err(failed("check", &path)(error)),
        })
        .await
    }

    async fn sub_path(
        &self,
        uid: &PodUid,
        volume: &Path,
        sub_path: &SubPath,
    ) -> Result<PathBuf, VolumeError> {
        let folder = named(&self.pod(uid)?.join(SUB_PATHS), &sub_path.volume)?;
        let folder = named(&folder, &sub_path.container)?;
        let target = folder.join(sub_path.index.to_string());
        let (at, sub_path) = (volume.to_owned(), sub_path.clone());
        // The volume may be of the host.
        let permit = self.locks.acquire(uid, Part::Host).await;
        let place = blocking(permit, volume, move || sub_path::open(&at, &sub_path)).await?;
        let permit = self.locks.acquire(uid, Part::Own).await;
        blocking(permit, &target.clone(), move || {
            make_folder(&folder)?;
            sub_path::bind(&place, &target)?;
            Ok(target)
        })
        .await
    }

    async fn read_file(
        &self,
        volume: &Path,
        path: &Path,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, VolumeError> {
        let (volume, path) = (volume.to_owned(), path.to_owned());
        let permit = self.locks.acquire_thread().await;
        blocking(permit, &volume.clone(), move || read::read(&volume, &path, bytes_max)).await
    }

    async fn tear_down(&self, uid: &PodUid) -> Result<(), VolumeError> {
        let pod = self.pod(uid)?;
        for attempt in 1.. {
            let folder = pod.clone();
            match blocking(self.locks.acquire(uid, Part::Own).await, &pod, move || tear_down(&folder)).await {
                Err(VolumeError::Io { cause, .. })
                    if cause.kind() == io::ErrorKind::ResourceBusy && attempt < UNMOUNT_ATTEMPTS => {}
                result => return result,
            }
            tokio::time::sleep(UNMOUNT_PAUSE).await;
        }
        Ok(())
    }
}

/// Whether SELinux is on here, so that runtimes label what containers mount. Reads `/sys/fs/selinux`.
pub fn selinux_is_on() -> bool {
    /// `SELINUX_MAGIC` of `linux/magic.h`.
    const SELINUX_MAGIC: u64 = 0xf97c_ff8c;
    rustix::fs::statfs("/sys/fs/selinux").is_ok_and(|found| u64::try_from(found.f_type) == Ok(SELINUX_MAGIC))
}

/// Unmounts what the agent mounts where it mounts, and removes the folders. What else may be mounted below is in the table of all
/// mounts, which is long where many pods are: it is read only if something stands in the way.
fn tear_down(pod: &Path) -> Result<(), VolumeError> {
    if unmount_own(pod).is_ok() {
        match remove(pod) {
            Err(VolumeError::Io { cause, .. }) if is_of_a_mount(&cause) => {}
            result => return result,
        }
    }
    unmount_below(pod).map_err(|(path, cause)| VolumeError::Io { action: "unmount", path, cause })?;
    remove(pod)
}

/// Nothing mounted is removed, nor is what is in it.
fn remove(pod: &Path) -> Result<(), VolumeError> {
    [SUB_PATHS, VOLUMES].iter().try_for_each(|name| {
        let folder = pod.join(name);
        remove_tree(&folder).map_err(failed("remove", &folder))
    })
}

fn is_of_a_mount(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::CrossesDevices | io::ErrorKind::ResourceBusy)
}

/// At `volume-subpaths/<volume>/<container>/<index>` and at `volumes/<plugin>/<name>`: the places below volumes first.
fn unmount_own(pod: &Path) -> io::Result<()> {
    for (name, levels) in [(SUB_PATHS, 3), (VOLUMES, 2)] {
        let mut folders = vec![pod.join(name)];
        for _ in 0..levels {
            folders = entries(&folders)?;
        }
        folders.iter().try_for_each(|path| unmount_at(path))?;
    }
    Ok(())
}

/// What is in these folders; links and files have nothing in them, and what isn't there hasn't either.
fn entries(folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        match folder.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        for entry in std::fs::read_dir(folder)? {
            found.push(entry?.path());
        }
    }
    Ok(found)
}

fn set_up(pod: &Path, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError> {
    let place = |plugin: &str| -> Result<PathBuf, VolumeError> {
        let folder = pod.join(VOLUMES).join(plugin);
        make_folder(&folder)?;
        named(&folder, &volume.name)
    };
    match &volume.kind {
        VolumeKind::EmptyDir => {
            let path = place(EMPTY_DIR)?;
            empty_dir::on_disk(&path, volume.ownership)?;
            Ok(path)
        }
        VolumeKind::Tmpfs { size_bytes } => {
            let path = place(EMPTY_DIR)?;
            empty_dir::on_disk(&path, None)?;
            empty_dir::in_memory(&path, *size_bytes, volume.ownership)
                .map_err(failed("mount tmpfs at", &path))?;
            Ok(path)
        }
        VolumeKind::HugePages { page_bytes } => {
            let path = place(EMPTY_DIR)?;
            empty_dir::on_disk(&path, None)?;
            empty_dir::in_huge_pages(&path, *page_bytes, volume.ownership)?;
            Ok(path)
        }
        VolumeKind::HostPath { path, check } => {
            host_path::check(path, *check)?;
            Ok(path.clone())
        }
        VolumeKind::Files { plugin, files, medium } => {
            let path = place(plugin)?;
            write_files(&path, files, *medium, volume.ownership)?;
            Ok(path)
        }
    }
}

fn write_files(
    path: &Path,
    files: &[VolumeFile],
    medium: FilesMedium,
    ownership: Option<Ownership>,
) -> Result<(), VolumeError> {
    empty_dir::on_disk(path, ownership)?;
    if let FilesMedium::Memory { size_bytes, is_secret } = medium {
        match empty_dir::in_memory(path, size_bytes, ownership) {
            // Only root may mount: what is no secret goes to the disk.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_secret => {}
            result => result.map_err(failed("mount tmpfs at", path))?,
        }
    }
    let own = |folder: &Path| match ownership {
        Some(ownership) => ownership::give(folder, ownership),
        None => Ok(()),
    };
    atomic::write(path, files, SystemClock.now(), own).map_err(failed("write files in", path))
}

/// A folder of the agent's own (0750), with those above it.
fn make_folder(path: &Path) -> Result<(), VolumeError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o750).create(path);
    made.map_err(failed("create folder", path))
}

/// Names reach here validated; this is checked a second time.
fn named(folder: &Path, name: &str) -> Result<PathBuf, VolumeError> {
    if is_folder_name(name) {
        return Ok(folder.join(name));
    }
    let cause = io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a valid folder name"));
    Err(VolumeError::Io { action: "use a name in", path: folder.to_owned(), cause })
}

fn failed<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> VolumeError {
    move |cause| VolumeError::Io { action, path: path.to_owned(), cause: cause.into() }
}

/// The permit is over when the work is, whether a caller still waits for it or not.
async fn blocking<T: Send + 'static>(
    permit: VolumePermit,
    path: &Path,
    work: impl FnOnce() -> Result<T, VolumeError> + Send + 'static,
) -> Result<T, VolumeError> {
    let work = move || {
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // Only a runtime that is shutting down doesn't finish the work.
        Err(error) => Err(failed("work at", path)(io::Error::other(error))),
    }
}

//! Volumes and files of containers in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::ContainerId;
use witlet_core::volume::{FilesMedium, SubPath, VolumeFile, VolumeKind, VolumeSetUp};
use witlet_ports::{
    ContainerFiles, ContainerLogs, FilesError, RotateError, RuntimeError, VolumeError, Volumes,
};

/// What is on the machine's disk of volumes, container files and logs. Survives restarts of the agent.
#[derive(Debug, Default)]
pub struct MemoryMachine {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    volumes: BTreeMap<(PodUid, String), VolumeSetUp>,
    failing: BTreeMap<String, u32>,
    hanging: BTreeSet<String>,
    tear_down_hangs: bool,
    hosts: BTreeMap<PodUid, String>,
    /// By path, for termination messages and logs.
    files: BTreeMap<PathBuf, Vec<u8>>,
    links: BTreeMap<String, PathBuf>,
    log: Vec<String>,
}

impl MemoryMachine {
    /// Volumes that are set up now, as `<uid>/<name>`.
    pub fn volumes(&self) -> Vec<String> {
        self.lock().volumes.keys().map(|(uid, name)| format!("{uid}/{name}")).collect()
    }

    /// A volume as it was set up last.
    pub fn volume(&self, uid: &PodUid, name: &str) -> Option<VolumeSetUp> {
        self.lock().volumes.get(&(uid.clone(), name.to_owned())).cloned()
    }

    /// The next times that a volume of this name is set up fail.
    pub fn fail_volume(&self, name: &str, times: u32) {
        self.lock().failing.insert(name.to_owned(), times);
    }

    /// Setting up a volume of this name never ends, until a case says so.
    pub fn hang_volume(&self, name: &str, hang: bool) {
        let mut inner = self.lock();
        if hang {
            inner.hanging.insert(name.to_owned());
        } else {
            inner.hanging.remove(name);
        }
    }

    /// Removing any pod's volumes never ends, until a case says so.
    pub fn hang_tear_down(&self, hang: bool) {
        self.lock().tear_down_hangs = hang;
    }

    /// What volumes had in memory is gone, as after a restart of the machine.
    pub fn lose_memory(&self) {
        self.lock().volumes.retain(|_, volume| match &volume.kind {
            VolumeKind::Files { medium, .. } => *medium == FilesMedium::Disk,
            VolumeKind::Tmpfs { .. } | VolumeKind::HugePages { .. } => false,
            VolumeKind::EmptyDir | VolumeKind::HostPath { .. } => true,
        });
    }

    /// What the agent wrote into a volume: a line for each file.
    pub fn files_of(&self, uid: &PodUid, name: &str) -> Vec<String> {
        let Some(volume) = self.volume(uid, name) else { return Vec::new() };
        let VolumeKind::Files { files, .. } = volume.kind else { return Vec::new() };
        let line = |file: &VolumeFile| {
            let content = String::from_utf8_lossy(&file.content);
            format!("{}: {content}", file.path.display())
        };
        files.iter().map(line).collect()
    }

    /// A pod's hosts file.
    pub fn hosts(&self, uid: &PodUid) -> Option<String> {
        self.lock().hosts.get(uid).cloned()
    }

    /// Writes a file, such as a container does with its termination message or a runtime with a log.
    pub fn write(&self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        self.lock().files.insert(path.into(), content.into());
    }

    /// Links to logs by name.
    pub fn links(&self) -> BTreeMap<String, PathBuf> {
        self.lock().links.clone()
    }

    /// What was done to logs and volumes, one line each.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn directory(uid: &PodUid) -> PathBuf {
        Path::new("/var/lib/witlet/pods").join(uid.as_str())
    }
}

#[async_trait]
impl Volumes for MemoryMachine {
    async fn set_up(&self, uid: &PodUid, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError> {
        while self.lock().hanging.contains(&volume.name) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let path = Self::directory(uid).join("volumes").join(&volume.name);
        let mut inner = self.lock();
        if let Some(left) = inner.failing.get_mut(&volume.name).filter(|left| **left > 0) {
            *left -= 1;
            let cause = std::io::Error::other("failed as the test planned");
            return Err(VolumeError::Io { action: "set up", path, cause });
        }
        inner.volumes.insert((uid.clone(), volume.name.clone()), volume.clone());
        Ok(path)
    }

    async fn written(&self, uid: &PodUid, _: &str, name: &str) -> Result<Option<PathBuf>, VolumeError> {
        let is_there = self.lock().volumes.contains_key(&(uid.clone(), name.to_owned()));
        Ok(is_there.then(|| Self::directory(uid).join("volumes").join(name)))
    }

    async fn sub_path(&self, _: &PodUid, volume: &Path, sub_path: &SubPath) -> Result<PathBuf, VolumeError> {
        Ok(volume.join(&sub_path.path))
    }

    async fn read_file(&self, volume: &Path, path: &Path, _: usize) -> Result<Option<Vec<u8>>, VolumeError> {
        Ok(self.lock().files.get(&volume.join(path)).cloned())
    }

    async fn tear_down(&self, uid: &PodUid) -> Result<(), VolumeError> {
        while self.lock().tear_down_hangs {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut inner = self.lock();
        inner.log.push(format!("tear down {uid}"));
        inner.volumes.retain(|(pod, _), _| pod != uid);
        Ok(())
    }
}

#[async_trait]
impl ContainerFiles for MemoryMachine {
    async fn write_hosts(&self, uid: &PodUid, content: &str) -> Result<PathBuf, FilesError> {
        self.lock().hosts.insert(uid.clone(), content.to_owned());
        Ok(Self::directory(uid).join("etc-hosts"))
    }

    async fn make_termination_log(
        &self,
        uid: &PodUid,
        container: &str,
        restart_count: u32,
    ) -> Result<PathBuf, FilesError> {
        let path = Self::directory(uid).join("containers").join(container).join(restart_count.to_string());
        self.lock().files.insert(path.clone(), Vec::new());
        Ok(path)
    }

    async fn read_termination_message(
        &self,
        path: &Path,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, FilesError> {
        let inner = self.lock();
        Ok(inner.files.get(path).map(|content| content.iter().copied().take(bytes_max).collect()))
    }

    async fn log_tail(&self, log: &Path, bytes_max: usize, lines_max: usize) -> Result<Vec<u8>, FilesError> {
        let inner = self.lock();
        let content = inner.files.get(log).map(Vec::as_slice).unwrap_or_default();
        let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let tail = lines[lines.len().saturating_sub(lines_max)..].concat();
        Ok(tail[tail.len().saturating_sub(bytes_max)..].to_vec())
    }

    async fn link_log(
        &self,
        full_name: &PodFullName,
        container: &str,
        id: &ContainerId,
        log: &Path,
    ) -> Result<(), FilesError> {
        let name = format!("{}_{}_{container}-{id}.log", full_name.name, full_name.namespace);
        self.lock().links.insert(name, log.to_owned());
        Ok(())
    }

    async fn remove_dead_links(&self, running: &[ContainerId]) -> Result<(), FilesError> {
        let mut inner = self.lock();
        let Inner { links, files, .. } = &mut *inner;
        let is_running = |name: &str| running.iter().any(|id| name.ends_with(&format!("-{id}.log")));
        links.retain(|name, log| files.contains_key(log) || is_running(name));
        Ok(())
    }
}

#[async_trait]
impl ContainerLogs for MemoryMachine {
    async fn size(&self, log: &Path) -> Result<Option<u64>, FilesError> {
        // A log without lines is there, and empty.
        Ok(Some(self.lock().files.get(log).map_or(0, |content| content.len() as u64)))
    }

    async fn rotate(
        &self,
        log: &Path,
        files_max: usize,
        _: Timestamp,
        reopen: BoxFuture<'_, Result<(), RuntimeError>>,
    ) -> Result<(), RotateError> {
        let before = self.lock().files.insert(log.to_owned(), Vec::new());
        if let Err(error) = reopen.await {
            if let Some(before) = before {
                self.lock().files.insert(log.to_owned(), before);
            }
            return Err(RotateError::Reopen(error));
        }
        self.lock().log.push(format!("rotate {} to {files_max}", log.display()));
        Ok(())
    }
}

/// The machine as each of its ports.
pub(crate) struct MachinePorts {
    pub(crate) volumes: Arc<dyn Volumes>,
    pub(crate) files: Arc<dyn ContainerFiles>,
    pub(crate) logs: Arc<dyn ContainerLogs>,
}

impl MachinePorts {
    pub(crate) fn of(machine: &Arc<MemoryMachine>) -> Self {
        Self { volumes: machine.clone(), files: machine.clone(), logs: machine.clone() }
    }
}

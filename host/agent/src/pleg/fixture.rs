//! A machine by script for tests: files that containers leave behind, and disks that hang.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::ContainerId;
use witlet_core::volume::{SubPath, VolumeSetUp};
use witlet_ports::{ContainerFiles, FilesError, VolumeError, Volumes};

/// What containers left behind, by path; `Err` can't be read.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) files: Mutex<BTreeMap<PathBuf, Result<Vec<u8>, ()>>>,
    pub(crate) hangs: AtomicBool,
    /// How often anything was read.
    pub(crate) reads: AtomicUsize,
}

impl Machine {
    async fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, FilesError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let found = self.files.lock().expect("no panic").get(path).cloned();
        found.transpose().map_err(|()| FilesError {
            action: "read",
            path: path.to_owned(),
            cause: std::io::Error::other("as scripted"),
        })
    }
}

#[async_trait]
impl ContainerFiles for Machine {
    async fn write_hosts(&self, _: &PodUid, _: &str) -> Result<PathBuf, FilesError> {
        Ok(PathBuf::from("/hosts"))
    }

    async fn make_termination_log(&self, _: &PodUid, _: &str, _: u32) -> Result<PathBuf, FilesError> {
        Ok(PathBuf::from("/message"))
    }

    async fn read_termination_message(&self, path: &Path, _: usize) -> Result<Option<Vec<u8>>, FilesError> {
        self.read(path).await
    }

    async fn log_tail(&self, log: &Path, _: usize, _: usize) -> Result<Vec<u8>, FilesError> {
        Ok(self.read(log).await?.unwrap_or_default())
    }

    async fn link_log(&self, _: &PodFullName, _: &str, _: &ContainerId, _: &Path) -> Result<(), FilesError> {
        Ok(())
    }

    async fn remove_dead_links(&self, _: &[ContainerId]) -> Result<(), FilesError> {
        Ok(())
    }
}

#[async_trait]
impl Volumes for Machine {
    async fn set_up(&self, _: &PodUid, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError> {
        Ok(Path::new("/volumes").join(&volume.name))
    }

    async fn written(&self, _: &PodUid, _: &str, _: &str) -> Result<Option<PathBuf>, VolumeError> {
        Ok(None)
    }

    async fn sub_path(&self, _: &PodUid, volume: &Path, sub_path: &SubPath) -> Result<PathBuf, VolumeError> {
        Ok(volume.join(&sub_path.path))
    }

    async fn read_file(&self, _: &Path, _: &Path, _: usize) -> Result<Option<Vec<u8>>, VolumeError> {
        Ok(None)
    }

    async fn tear_down(&self, _: &PodUid) -> Result<(), VolumeError> {
        Ok(())
    }
}

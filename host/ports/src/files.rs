//! The ports to the node's disk.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::pod::{PodFullName, PodUid};

/// The disk said no.
#[derive(Debug, Error)]
#[error("{action} {}", path.display())]
pub struct FilesError {
    /// What was tried, as a verb: `create folder`, `write`, `remove`.
    pub action: &'static str,
    /// Where.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub cause: std::io::Error,
}

/// The folders of pods: `<root>/pods/<uid>` and `/var/log/pods/<namespace>_<name>_<uid>`.
#[async_trait]
pub trait PodFiles: Send + Sync {
    /// The pod's log folder, which the sandbox is told. Doesn't touch the disk.
    fn log_directory(&self, full_name: &PodFullName, uid: &PodUid) -> PathBuf;

    /// Makes the pod's data folder, its log folder and a log folder for each named container.
    async fn ensure(
        &self,
        full_name: &PodFullName,
        uid: &PodUid,
        containers: &[String],
    ) -> Result<(), FilesError>;

    /// UIDs that have a data folder or a log folder.
    async fn list(&self) -> Result<Vec<PodUid>, FilesError>;

    /// Removes the pod's data folder; and its log folders, which upstream keeps until the sandbox is gone. A pod
    /// without folders is no error.
    async fn remove(&self, uid: &PodUid) -> Result<(), FilesError>;

    /// Removes the log of one container, which the runtime says is at this path. Refuses what isn't a container's log
    /// in the log folder of a pod. A log that isn't there is no error.
    async fn remove_log(&self, path: &Path) -> Result<(), FilesError>;
}

/// A few small files that survive a restart. Each is written whole: after a crash it holds the old value or the
/// new one.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// The value last saved under this name, if any.
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError>;

    /// Replaces the value.
    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError>;
}

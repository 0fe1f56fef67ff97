//! The ports to the node's disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use thiserror::Error;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::ContainerId;

use crate::RuntimeError;

/// The disk said no.
#[derive(Debug, Error)]
#[error("{action} {}", path.display())]
pub struct FilesError {
    /// What was tried, as a verb: `create folder`, `write`, `remove`.
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub cause: std::io::Error,
}

/// The folders of pods: `<root>/pods/<uid>` and `/var/log/pods/<namespace>_<name>_<uid>`.
#[async_trait]
pub trait PodFiles: Send + Sync {
    /// The pod's log folder, which the sandbox gets. Doesn't touch the disk.
    fn log_directory(&self, full_name: &PodFullName, uid: &PodUid) -> PathBuf;

    /// Makes the pod's data folder, its log folder and a log folder for each named container.
    async fn ensure(
        &self,
        full_name: &PodFullName,
        uid: &PodUid,
        containers: &[String],
    ) -> Result<(), FilesError>;

    /// The restart count of the newest log of each of these containers, as the names of the logs tell it. Containers without
    /// logs have none. Files that keep no logs, such as a test's, know of none.
    async fn logged_restart_counts(
        &self,
        full_name: &PodFullName,
        uid: &PodUid,
        containers: &[String],
    ) -> Result<BTreeMap<String, u32>, FilesError> {
        let _ = (full_name, uid, containers);
        Ok(BTreeMap::new())
    }

    /// The file `userns` of the pod's data folder, in which a kubelet or this agent noted the pod's ids; none if there is none.
    async fn user_namespace(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        let _ = uid;
        Ok(None)
    }

    /// Writes that file, whole and for good, unless it says the same. The pod's data folder is there.
    async fn write_user_namespace(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        let _ = (uid, content);
        Ok(())
    }

    /// Returns what the agent keeps of the pod in its data folder; none if there is nothing.
    async fn checkpoint(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        let _ = uid;
        Ok(None)
    }

    /// Keeps that there, whole and for good: after a crash it is the old or the new. Makes the folder if it isn't there.
    async fn write_checkpoint(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        let _ = (uid, content);
        Ok(())
    }

    /// Removes it. One that isn't there is no error.
    async fn remove_checkpoint(&self, uid: &PodUid) -> Result<(), FilesError> {
        let _ = uid;
        Ok(())
    }

    /// UIDs that have a data folder or a log folder.
    async fn list(&self) -> Result<Vec<PodUid>, FilesError>;

    /// Removes the pod's data folder; and its log folders, which upstream keeps until the sandbox is gone. A pod
    /// without folders is no error. Stops at what is mounted there: that is unmounted first, or stays with an error.
    async fn remove(&self, uid: &PodUid) -> Result<(), FilesError>;

    /// Removes the log of one container, which the runtime says is at this path, with what was rotated away from it.
    /// Refuses what isn't a container's log in the log folder of a pod. A log that isn't there is no error.
    async fn remove_log(&self, path: &Path) -> Result<(), FilesError>;
}

/// What the agent writes for containers, and reads of them.
#[async_trait]
pub trait ContainerFiles: Send + Sync {
    /// Writes the pod's hosts file, unless it says the same already, and gives its path on the host.
    async fn write_hosts(&self, uid: &PodUid, content: &str) -> Result<PathBuf, FilesError>;

    /// Makes an empty file that an instance of a container writes its termination message to, in
    /// `<pod>/containers/<container>`, writable by all, because the container's user isn't known. Each call makes another
    /// file.
    async fn make_termination_log(
        &self,
        uid: &PodUid,
        container: &str,
        restart_count: u32,
    ) -> Result<PathBuf, FilesError>;

    /// The end of a termination message, at most `bytes_max` of it, as upstream reads it. None if there is no such
    /// file; refuses what isn't a regular file in the folders of a pod.
    async fn read_termination_message(
        &self,
        path: &Path,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, FilesError>;

    /// The end of a container's log without the runtime's prefixes: at most this many bytes and entries. Empty if there
    /// is no log. Refuses what isn't a container's log in the log folder of a pod.
    async fn log_tail(&self, log: &Path, bytes_max: usize, lines_max: usize) -> Result<Vec<u8>, FilesError>;

    /// Links `<pod>_<namespace>_<container>-<id>.log` in the folder of all containers' logs to this log, if there is one.
    async fn link_log(
        &self,
        full_name: &PodFullName,
        container: &str,
        id: &ContainerId,
        log: &Path,
    ) -> Result<(), FilesError>;

    /// Removes links to logs of pods that lead nowhere, except those of running containers, whose logs may just be
    /// rotated. Other links stay.
    async fn remove_dead_links(&self, running: &[ContainerId]) -> Result<(), FilesError>;
}

/// The logs of containers, which the runtime writes and the agent keeps small.
#[async_trait]
pub trait ContainerLogs: Send + Sync {
    /// Size of the log in bytes; none if there is none.
    async fn size(&self, log: &Path) -> Result<Option<u64>, FilesError>;

    /// Moves the log away to `<log>.<time>` and has the runtime begin a new one by `reopen`; if that fails the log is
    /// moved back. Before, what an interrupted rotation left is cleaned up, the oldest of those that were moved away are
    /// removed so that `files_max` with the new one will remain, and the others are packed (`.gz`): the newest is
    /// never packed, for collectors still read it. Upstream's `container_log_manager`.
    async fn rotate(
        &self,
        log: &Path,
        files_max: usize,
        now: Timestamp,
        reopen: BoxFuture<'_, Result<(), RuntimeError>>,
    ) -> Result<(), RotateError>;
}

/// A log could not be rotated.
#[derive(Debug, Error)]
pub enum RotateError {
    /// The disk said no.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The runtime didn't open the log again.
    #[error("reopen the log")]
    Reopen(#[source] RuntimeError),
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

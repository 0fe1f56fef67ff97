//! The port to the volumes of pods on this machine.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::pod::PodUid;
use witlet_core::volume::{SubPath, VolumeSetUp};

/// A volume can't be had, or not got rid of.
#[derive(Debug, Error)]
pub enum VolumeError {
    /// The machine said no.
    #[error("{action} {}", path.display())]
    Io {
        /// What was tried, as a verb: `mount tmpfs at`, `write`.
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// What `hostPath.type` asks for isn't there, in upstream's words.
    #[error("hostPath {} doesn't exist", path.display())]
    HostPathMissing {
        /// The path on the host.
        path: PathBuf,
    },
    /// `hostPath.type` doesn't hold, in upstream's words.
    #[error("hostPath type check failed: {} is not a {expected}, it's a {found}", path.display())]
    HostPathType {
        /// The path on the host.
        path: PathBuf,
        /// What it should be: `directory`, `file`, `socket file`, `character device`, `block device`.
        expected: &'static str,
        /// What it is: `Directory`, `File`, `Socket`, `CharDevice`, `BlockDevice`, or `other kind of file`.
        found: &'static str,
    },
    /// Huge pages are mounted already, of another size.
    #[error("{} has pages of {found_bytes} bytes and should have {desired_bytes}", path.display())]
    PageSize {
        /// Where they are mounted.
        path: PathBuf,
        /// Bytes of a page there.
        found_bytes: u64,
        /// Bytes of a page that was asked for.
        desired_bytes: u64,
    },
    /// A path leads out of its volume.
    #[error("subpath {} of volume {volume} leads out of it", path.display())]
    Escapes {
        volume: String,
        /// The path in it.
        path: PathBuf,
    },
}

/// Volumes, which live in the pod's data folder: `<root>/pods/<uid>/volumes/<plugin>/<name>`, in upstream's layout. Calls
/// for one pod come one after the other.
#[async_trait]
pub trait Volumes: Send + Sync {
    /// Makes the volume what it should be, and gives the path on the host that containers mount. Doing so again changes
    /// only what is different and costs little; files of a `downwardAPI` volume are replaced all at once.
    async fn set_up(&self, uid: &PodUid, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError>;

    /// Where a volume of files is whose content was written before, be it by an earlier life of the agent; none if it wasn't, or
    /// if that is gone, as what was in memory is after a restart of the machine. `plugin` is that of
    /// [`witlet_core::volume::VolumeKind::Files`].
    async fn written(&self, uid: &PodUid, plugin: &str, name: &str) -> Result<Option<PathBuf>, VolumeError>;

    /// The path on the host of a place below a volume, made as a folder if it isn't there, which no process in the pod can
    /// turn into a way out of the volume. `volume` is what `set_up` gave. Asked for again (another instance of the
    /// container), it gives the same path, which then leads to what is there now.
    async fn sub_path(&self, uid: &PodUid, volume: &Path, sub_path: &SubPath)
    -> Result<PathBuf, VolumeError>;

    /// Returns what a regular file below a volume says, none if there is no file. `volume` is what `set_up` gave. No process in the pod
    /// can make it a file outside of the volume; one of more than `bytes_max` is an error.
    async fn read_file(
        &self,
        volume: &Path,
        path: &Path,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, VolumeError>;

    /// Gives the volumes of a pod up whose containers have ended: unmounts all that is mounted below the pod's data
    /// folder, regardless of who mounted it, and removes what the volumes held, as upstream does when a pod has ended. A pod
    /// without volumes is no error. Remembers nothing, so that it also serves pods of an earlier life of the agent. An
    /// error leaves what could not be unmounted as it was; the call may be repeated.
    async fn tear_down(&self, uid: &PodUid) -> Result<(), VolumeError>;
}

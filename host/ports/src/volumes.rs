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
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// `hostPath.type` doesn't hold, in upstream's words.
    #[error("hostPath type check failed: {} is not a {expected}", path.display())]
    HostPathType {
        /// The path on the host.
        path: PathBuf,
        /// What it should be: `directory`, `file`, `socket file`, `character device`, `block device`.
        expected: &'static str,
    },
    /// A path leads out of its volume.
    #[error("subpath {} of volume {volume} leads out of it", path.display())]
    Escapes {
        /// The volume.
        volume: String,
        /// The path in it.
        path: PathBuf,
    },
}

/// Volumes, which live in the pod's data folder: `<root>/pods/<uid>/volumes/<kind>/<name>`.
#[async_trait]
pub trait Volumes: Send + Sync {
    /// Makes the volume what it should be, and gives the path on the host that containers mount. Doing so again changes
    /// only what is different; files of a `downwardAPI` volume are replaced all at once.
    async fn set_up(&self, uid: &PodUid, volume: &VolumeSetUp) -> Result<PathBuf, VolumeError>;

    /// The path on the host of a place below a volume, made if it isn't there, which nobody in the pod can turn into a
    /// way out of the volume.
    async fn sub_path(&self, uid: &PodUid, volume: &Path, sub_path: &SubPath)
    -> Result<PathBuf, VolumeError>;

    /// Unmounts all that is mounted below the pod's data folder. Removes nothing but sub-path mount points and tmpfs.
    async fn tear_down(&self, uid: &PodUid) -> Result<(), VolumeError>;
}

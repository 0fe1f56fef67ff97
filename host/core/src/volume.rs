//! Volumes of a pod: what has to be there on the machine, and what of it containers see.
//!
//! Rules of the kubelet's volume manager, its plugins for volumes that need no API server, and `makeMounts`.

mod empty_dir;
mod error;
mod expand;
mod files;
mod fingerprint;
mod mounts;
mod plugin;
mod referenced;
mod set_up;
pub mod token;

use std::path::PathBuf;

pub use error::VolumeSpecError;
pub use files::ROOT_CA;
pub(crate) use files::wish_of;
pub use fingerprint::Fingerprint;
pub use mounts::{MountInput, MountSource, PlannedMount, mounts};
pub use plugin::mounted_plugins;
pub use referenced::{Fetched, InsteadOf, ReferencedObjects, TokenWish, instead};
pub(crate) use set_up::mounted_volumes;
pub use set_up::{DesiredVolume, set_ups};

/// One volume as it should be on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSetUp {
    /// Name in the pod's spec.
    pub name: String,
    pub kind: VolumeKind,
    /// Group that owns its content; none leaves the owner alone.
    pub ownership: Option<Ownership>,
}

/// What a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// `emptyDir` on the node's disk.
    EmptyDir,
    /// `emptyDir` in memory.
    Tmpfs {
        /// Bytes; none leaves it to the kernel (half of the memory).
        size_bytes: Option<u64>,
    },
    /// `emptyDir` in huge pages.
    HugePages {
        /// Bytes of one page. A size limit isn't applied to them, as upstream has it.
        page_bytes: u64,
    },
    /// `hostPath`
    HostPath {
        /// Absolute path.
        path: PathBuf,
        /// What has to be there.
        check: HostPathCheck,
    },
    /// Files that the agent writes: `configMap`, `downwardAPI`, `projected` and `secret`.
    Files {
        /// The plugin's name in the path on disk: `kubernetes.io~downward-api`.
        plugin: &'static str,
        /// What is in it: no path twice.
        files: Vec<VolumeFile>,
        /// Where they are kept.
        medium: FilesMedium,
    },
}

/// Where files are kept that the agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesMedium {
    /// On the node's disk: `configMap`, as upstream has it.
    Disk,
    Memory {
        /// Bytes at most; none leaves it to the kernel (half of the memory).
        size_bytes: Option<u64>,
        /// They never go to a disk, not even where the agent may not mount.
        is_secret: bool,
    },
}

/// One file that the agent writes into a volume.
#[derive(Clone, PartialEq, Eq)]
pub struct VolumeFile {
    /// Relative path, without `..`.
    pub path: PathBuf,
    pub content: Vec<u8>,
    pub mode: u32,
    /// The user that owns it; none is the agent.
    pub owner: Option<u32>,
}

impl std::fmt::Debug for VolumeFile {
    /// Leaves the content out, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, content, mode, owner: _ } = self;
        write!(f, "{} ({} bytes, {mode:o})", path.display(), content.len())
    }
}

/// What `hostPath.type` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostPathCheck {
    Unset,
    /// A folder, made if it isn't there (0755).
    DirectoryOrCreate,
    Directory,
    /// A file, made if it isn't there (0644).
    FileOrCreate,
    File,
    Socket,
    CharDevice,
    BlockDevice,
}

/// Who owns a volume's content (`fsGroup`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    pub gid: u32,
    /// Only if the root of the volume isn't owned so already (`fsGroupChangePolicy: OnRootMismatch`).
    pub on_root_mismatch: bool,
    /// Whether the volume is mounted read-only, which leaves out the write bit.
    pub read_only: bool,
}

/// A place below a volume that one mount of one container uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubPath {
    pub volume: String,
    pub container: String,
    /// Index in the container's mounts.
    pub index: usize,
    /// Relative path, expanded, without `..`.
    pub path: PathBuf,
}

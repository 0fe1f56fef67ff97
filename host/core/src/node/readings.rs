//! What the machine has left of memory, disk and process ids, and which images it has.

use std::time::Duration;

use crate::eviction::Filesystems;

/// What is left of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub capacity: u64,
    /// Free, as upstream's eviction manager reckons it.
    pub available: u64,
}

/// One check of the machine. What can't be read is none, and decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeReadings {
    /// Bytes of memory (`memory.available`: capacity less the working set).
    pub memory: Option<Left>,
    /// Bytes of memory that pods together may still take (`allocatableMemory.available`); none where nothing limits them.
    pub allocatable_memory: Option<Left>,
    /// Bytes of the file system of the agent's folder (`nodefs.available`).
    pub nodefs_bytes: Option<Left>,
    /// Its inodes (`nodefs.inodesFree`).
    pub nodefs_inodes: Option<Left>,
    /// Bytes of the file system that images are on (`imagefs.available`).
    pub imagefs_bytes: Option<Left>,
    /// Its inodes (`imagefs.inodesFree`).
    pub imagefs_inodes: Option<Left>,
    /// Bytes of the file system that writable layers are on (`containerfs.available`).
    pub containerfs_bytes: Option<Left>,
    /// Its inodes (`containerfs.inodesFree`).
    pub containerfs_inodes: Option<Left>,
    /// How these file systems lie to each other; none while that isn't known.
    pub filesystems: Option<Filesystems>,
    /// Process ids (`pid.available`).
    pub pids: Option<Left>,
    /// Processor time that all processes have used since the start of the machine.
    pub cpu: Option<Duration>,
}

/// An image that is on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeImage {
    pub id: String,
    /// Digests and tags that name it, digests first.
    pub names: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// Whether the runtime wants it to stay, such as its sandbox image.
    pub pinned: bool,
}

//! What the machine has left of memory, disk and process ids, and which images it has.

/// What is left of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Of it all.
    pub capacity: u64,
    /// Free, as upstream's eviction manager reckons it.
    pub available: u64,
}

/// One look at the machine. What can't be read is none, and decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeReadings {
    /// Bytes of memory (`memory.available`: capacity less the working set).
    pub memory: Option<Left>,
    /// Bytes of the file system of the agent's folder (`nodefs.available`).
    pub nodefs_bytes: Option<Left>,
    /// Its inodes (`nodefs.inodesFree`).
    pub nodefs_inodes: Option<Left>,
    /// Bytes of the file system that images are on (`imagefs.available`).
    pub imagefs_bytes: Option<Left>,
    /// Its inodes (`imagefs.inodesFree`).
    pub imagefs_inodes: Option<Left>,
    /// Process ids (`pid.available`).
    pub pids: Option<Left>,
}

/// An image that is on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeImage {
    /// Digests and tags that name it, digests first.
    pub names: Vec<String>,
    /// Bytes.
    pub size: u64,
}

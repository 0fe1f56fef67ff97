//! What is measured, what it is a shortage of, and which condition of the node it leads to (`eviction/api/types.go`).

use std::fmt;

use crate::node::conditions::Pressure;

/// A figure of the node that a threshold can be set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Memory of the node: capacity less the working set.
    MemoryAvailable,
    /// Memory that pods together may still take.
    AllocatableMemoryAvailable,
    /// Bytes of the file system of the agent's folder.
    NodeFsAvailable,
    NodeFsInodesFree,
    /// Bytes of the file system of images.
    ImageFsAvailable,
    ImageFsInodesFree,
    /// Bytes of the file system of writable layers.
    ContainerFsAvailable,
    ContainerFsInodesFree,
    PidAvailable,
}

/// All signals, in the order in which shortages are dealt with: memory before all others, as upstream; upstream leaves the order of
/// the rest to chance.
pub const SIGNALS: [Signal; 9] = [
    Signal::MemoryAvailable,
    Signal::AllocatableMemoryAvailable,
    Signal::NodeFsAvailable,
    Signal::NodeFsInodesFree,
    Signal::ImageFsAvailable,
    Signal::ImageFsInodesFree,
    Signal::ContainerFsAvailable,
    Signal::ContainerFsInodesFree,
    Signal::PidAvailable,
];

impl Signal {
    /// The word of the kubelet's configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryAvailable => "memory.available",
            Self::AllocatableMemoryAvailable => "allocatableMemory.available",
            Self::NodeFsAvailable => "nodefs.available",
            Self::NodeFsInodesFree => "nodefs.inodesFree",
            Self::ImageFsAvailable => "imagefs.available",
            Self::ImageFsInodesFree => "imagefs.inodesFree",
            Self::ContainerFsAvailable => "containerfs.available",
            Self::ContainerFsInodesFree => "containerfs.inodesFree",
            Self::PidAvailable => "pid.available",
        }
    }

    /// The signal of that word.
    pub fn parse(word: &str) -> Option<Self> {
        SIGNALS.into_iter().find(|signal| signal.as_str() == word)
    }

    /// Returns what runs short.
    pub fn resource(self) -> StarvedResource {
        match self {
            Self::MemoryAvailable | Self::AllocatableMemoryAvailable => StarvedResource::Memory,
            Self::NodeFsAvailable | Self::ImageFsAvailable | Self::ContainerFsAvailable => {
                StarvedResource::EphemeralStorage
            }
            Self::NodeFsInodesFree | Self::ImageFsInodesFree | Self::ContainerFsInodesFree => {
                StarvedResource::Inodes
            }
            Self::PidAvailable => StarvedResource::Pids,
        }
    }

    /// The node's condition while it runs short.
    pub fn pressure(self) -> Pressure {
        match self.resource() {
            StarvedResource::Memory => Pressure::Memory,
            StarvedResource::EphemeralStorage | StarvedResource::Inodes => Pressure::Disk,
            StarvedResource::Pids => Pressure::Pid,
        }
    }

    /// Whether amounts are bytes, which are printed in powers of 1024.
    pub fn is_in_bytes(self) -> bool {
        matches!(self.resource(), StarvedResource::Memory | StarvedResource::EphemeralStorage)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What pods are evicted for the lack of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StarvedResource {
    Memory,
    EphemeralStorage,
    /// Inodes of local disks.
    Inodes,
    Pids,
}

impl StarvedResource {
    /// The word of upstream's messages; a resource's name where it is one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => crate::pod::resources::MEMORY,
            Self::EphemeralStorage => crate::pod::resources::EPHEMERAL_STORAGE,
            Self::Inodes => "inodes",
            Self::Pids => "pids",
        }
    }
}

impl fmt::Display for StarvedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

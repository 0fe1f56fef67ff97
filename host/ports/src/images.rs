//! The ports to what the runtime keeps of images, and to the file systems under it.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use witlet_core::runtime::ContainerId;

use crate::{FilesError, Left, NodeImage, RuntimeError};

/// A file system that the runtime keeps images or containers on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFilesystem {
    /// A path on it, as the runtime sees it.
    pub mountpoint: PathBuf,
    /// Bytes that images or containers take; none if the runtime doesn't say.
    pub used_bytes: Option<u64>,
    /// Inodes that they take; none if the runtime doesn't say.
    pub inodes_used: Option<u64>,
}

/// Where images and the writable layers of containers are. Both are usually on one file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFilesystems {
    /// Of images; usually one.
    pub images: Vec<ImageFilesystem>,
    /// Of containers' writable layers; empty if the runtime doesn't say, as older ones don't.
    pub containers: Vec<ImageFilesystem>,
}

/// A container with the image that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerImage {
    pub container: ContainerId,
    pub image: String,
}

/// What the runtime has of images, where, and for which containers.
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// Returns all images, in no order.
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError>;

    /// Where images and containers are.
    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError>;

    /// Returns all containers that the runtime has, running or not, also those of other clients, with their images; in no order.
    async fn containers(&self) -> Result<Vec<ContainerImage>, RuntimeError>;

    /// Images that a container has mounted as volumes, by identifier. They stay the same for the life of a container. A
    /// container that isn't there has none.
    async fn mounted_images(&self, container: &ContainerId) -> Result<Vec<String>, RuntimeError>;

    /// Removes the image of this identifier with all its names. One that isn't there is removed.
    async fn remove(&self, id: &str) -> Result<(), RuntimeError>;
}

/// The machine's file systems.
#[async_trait]
pub trait FileSystems: Send + Sync {
    /// Size and free bytes of the file system that a path is on.
    ///
    /// # Errors
    /// If the path isn't there, or its file system doesn't answer in time.
    async fn bytes(&self, path: &Path) -> Result<Left, FilesError>;
}

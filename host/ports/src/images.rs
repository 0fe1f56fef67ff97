//! The port to what the runtime keeps of images.

use std::path::PathBuf;

use async_trait::async_trait;

use crate::{NodeImage, RuntimeError};

/// A file system that the runtime keeps images on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFilesystem {
    /// A path on it, as the runtime sees it.
    pub mountpoint: PathBuf,
    /// Bytes that images take; none if the runtime doesn't say.
    pub used_bytes: Option<u64>,
    /// Inodes that images take; none if the runtime doesn't say.
    pub inodes_used: Option<u64>,
}

/// What the runtime has of images, and where.
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// All images, in no order.
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError>;

    /// Where images are; usually one file system.
    async fn filesystems(&self) -> Result<Vec<ImageFilesystem>, RuntimeError>;
}

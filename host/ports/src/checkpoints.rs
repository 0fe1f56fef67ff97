//! The port to checkpoints of containers.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::runtime::ContainerId;

use crate::RuntimeError;

/// Saves containers as they run.
#[async_trait]
pub trait Checkpoints: Send + Sync {
    /// Saves a running container, which goes on, as an archive at this path. It may take this long, if that is more than a call
    /// takes otherwise.
    async fn checkpoint(
        &self,
        id: &ContainerId,
        archive: &Path,
        timeout: Option<Duration>,
    ) -> Result<(), RuntimeError>;
}

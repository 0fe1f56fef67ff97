//! The port to the files of containers' logs, for those that show them.

use std::fs::File;
use std::path::Path;

use async_trait::async_trait;

use crate::FilesError;

/// Opens logs.
#[async_trait]
pub trait LogFiles: Send + Sync {
    /// The log at this path, which the runtime reported, for reading; none if there is none at the moment. Refuses what isn't a
    /// container's log in the log folder of a pod.
    async fn open(&self, log: &Path) -> Result<Option<File>, FilesError>;
}

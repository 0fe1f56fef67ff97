//! How full the machine's file systems are.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::timeout;
use witlet_core::stats::summary::FsMeasurement;
use witlet_ports::{FileSystems, FilesError, Left};

use crate::failed;

#[cfg(test)]
mod tests;

/// A file system that takes longer to answer, as one of the network may, counts as unreadable.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
const ACTION: &str = "read the file system of";

/// Asks the kernel.
#[derive(Debug, Default)]
pub struct NodeFileSystems {
    /// One question at a time: a file system that hangs must not gather threads.
    asking: Arc<Mutex<()>>,
}

impl NodeFileSystems {
    /// Has this asked of file systems on a thread that may wait.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let asked = async {
            let turn = self.asking.clone().lock_owned().await;
            tokio::task::spawn_blocking(move || (question(), turn)).await
        };
        match timeout(READ_TIMEOUT, asked).await {
            Ok(Ok((answer, _turn))) => Ok(answer),
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(error)) => Err(io::Error::other(error)),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[async_trait]
impl FileSystems for NodeFileSystems {
    async fn bytes(&self, path: &Path) -> Result<Left, FilesError> {
        let at = path.to_owned();
        let measured = self.ask(move || measure(&at)).await.flatten();
        measured.map(|fs| bytes(&fs)).map_err(failed(ACTION, path))
    }
}

/// The file system that a path is on.
pub(crate) fn measure(path: &Path) -> io::Result<FsMeasurement> {
    let stats = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stats.f_frsize);
    Ok(FsMeasurement {
        capacity: bytes(stats.f_blocks),
        available: bytes(stats.f_bavail),
        used: bytes(stats.f_blocks.saturating_sub(stats.f_bfree)),
        inodes: stats.f_files,
        inodes_free: stats.f_ffree,
    })
}

/// The same where a folder may not be there yet: of the nearest one that is.
pub(crate) fn measure_nearest(path: &Path) -> Option<FsMeasurement> {
    measure(nearest(path)?).ok()
}

/// The path, or the nearest folder above it that is there.
pub(crate) fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.exists())
}

/// Size and bytes that are free for everyone.
pub(crate) fn bytes(fs: &FsMeasurement) -> Left {
    Left { capacity: fs.capacity, available: fs.available }
}

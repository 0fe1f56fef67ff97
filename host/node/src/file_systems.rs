//! How full the machine's file systems are.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::StatVfs;
use tokio::sync::Mutex;
use tokio::time::timeout;
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

#[async_trait]
impl FileSystems for NodeFileSystems {
    async fn bytes(&self, path: &Path) -> Result<Left, FilesError> {
        let at = path.to_owned();
        let asked = async {
            let turn = self.asking.clone().lock_owned().await;
            tokio::task::spawn_blocking(move || (rustix::fs::statvfs(&at), turn)).await
        };
        match timeout(READ_TIMEOUT, asked).await {
            Ok(Ok((stats, _turn))) => {
                stats.map(|stats| bytes(&stats)).map_err(|errno| failed(ACTION, path)(errno.into()))
            }
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(error)) => Err(failed(ACTION, path)(io::Error::other(error))),
            Err(_) => Err(failed(ACTION, path)(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Size and bytes that are free for everyone.
pub(crate) fn bytes(stats: &StatVfs) -> Left {
    Left {
        capacity: stats.f_blocks.saturating_mul(stats.f_frsize),
        available: stats.f_bavail.saturating_mul(stats.f_frsize),
    }
}

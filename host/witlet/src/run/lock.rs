//! One agent for one folder: two would stop each other's pods.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep};

/// The lock in the agent's folder.
const FILE_NAME: &str = "lock";

/// Access to it.
const FILE_MODE: u32 = 0o600;

/// An agent that was killed has the lock until the kernel has taken it apart: the next one waits so long for that.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// And checks this often.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A process identifier has fewer digits than this.
const HOLDER_BYTES_MAX: u64 = 20;

/// Why the folder can't be had.
#[derive(Debug, Error)]
pub(crate) enum LockError {
    /// Another agent has it.
    #[error(
        "{} is in use by another witlet{}: stop it, or set another folder with --root-dir",
        root_dir.display(), holder.map(|id| format!(", process {id}")).unwrap_or_default()
    )]
    Held {
        root_dir: PathBuf,
        /// The process that has it, if it has said so.
        holder: Option<u32>,
    },
    /// The file system said no.
    #[error(
        "failed to lock {}; run witlet as root, or set --root-dir, --pod-logs-dir and --api-socket to folders that it may write",
        path.display()
    )]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// The agent's folder is this process's while this value lives.
#[derive(Debug)]
pub(crate) struct RootLock {
    _file: File,
}

impl RootLock {
    /// Takes the folder, which must be there, and waits up to [`WAIT_MAX`] while another agent has it: that one may have been killed and
    /// not be gone yet. The kernel gives the folder up when the process ends, however that happens.
    ///
    /// # Errors
    /// The other agent still has it, or the file system refuses.
    pub(crate) async fn take(root_dir: &Path) -> Result<Self, LockError> {
        let until = Instant::now() + WAIT_MAX;
        let mut has_waited = false;
        loop {
            match Self::try_take(root_dir) {
                Err(LockError::Held { holder, .. }) if Instant::now() < until => {
                    if !std::mem::replace(&mut has_waited, true) {
                        tracing::warn!(
                            root_dir = %root_dir.display(),
                            holder,
                            timeout = ?WAIT_MAX,
                            "Waiting for another witlet to release --root-dir"
                        );
                    }
                    sleep(POLL_INTERVAL).await;
                }
                taken => return taken,
            }
        }
    }

    fn try_take(root_dir: &Path) -> Result<Self, LockError> {
        let path = root_dir.join(FILE_NAME);
        let failed = |cause| LockError::Io { path: path.clone(), cause };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { root_dir: root_dir.to_owned(), holder: holder(&file) });
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        // For people only: on a full disk the lock holds all the same.
        if let Err(error) = note_holder(&mut file) {
            tracing::debug!(%error, path = %path.display(), "Failed to read the owner of the lock");
        }
        Ok(Self { _file: file })
    }
}

fn note_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(HOLDER_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests;

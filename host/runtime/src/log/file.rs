//! The file that a container's log goes to, which may be moved away under it and opened again.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Access to a log: its owner, and a group that may read.
const LOG_MODE: u32 = 0o640;
/// Access to a folder that is made for a log.
const LOG_FOLDER_MODE: u32 = 0o755;

/// A log file that both outputs of a container write to. Lines aren't mixed.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    lost_bytes: u64,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(LOG_MODE).open(path)
}

impl LogFile {
    /// Opens the log at `path`, making it and its folder where they are missing. An existing log is continued.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(LOG_FOLDER_MODE).create(folder)?;
        }
        Ok(Self { path: path.to_owned(), state: Mutex::new(State { file: open(path)?, lost_bytes: 0 }) })
    }

    /// Appends log lines. A log that can't be written loses them and doesn't hold up the container, as with other
    /// runtimes; that it happened is said once.
    pub(crate) fn append(&self, lines: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = state.file.write_all(lines) {
            if state.lost_bytes == 0 {
                tracing::warn!(path = %self.path.display(), %error, "Failed to write container log");
            }
            state.lost_bytes = state.lost_bytes.saturating_add(lines.len() as u64);
        }
    }

    /// Opens the path again, after the file was moved away.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let file = open(&self.path)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lost_bytes > 0 {
            tracing::warn!(path = %self.path.display(), bytes = state.lost_bytes, "Lost part of container log");
        }
        *state = State { file, lost_bytes: 0 };
        Ok(())
    }
}

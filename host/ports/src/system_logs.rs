//! The port to the machine's own logs, for those that show them.

use std::fs::File;
use std::path::Path;
use std::pin::Pin;

use async_trait::async_trait;
use tokio::io::AsyncRead;

use crate::FilesError;

/// What `journalctl` writes, errors too, until it ends. Dropping this ends it.
pub type JournalOutput = Pin<Box<dyn AsyncRead + Send>>;

/// Where symbolic links may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Anywhere, as upstream's file server has it.
    Anywhere,
    /// Only below the folder of logs.
    Below,
}

/// What lies in the folder of logs.
#[derive(Debug)]
pub enum SystemLog {
    /// A regular file, for reading.
    File(File),
    /// The entries of a folder, by their names; `is_cut` if there are more than were read.
    Folder {
        /// What is in it.
        entries: Vec<SystemLogEntry>,
        /// Whether it has more.
        is_cut: bool,
    },
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemLogEntry {
    /// Its name; bytes that aren't UTF-8 are replaced.
    pub name: String,
    /// Whether it is a folder itself; a link to one isn't.
    pub is_folder: bool,
}

/// Reads the machine's logs.
#[async_trait]
pub trait SystemLogs: Send + Sync {
    /// The file or folder at this relative path below the folder of logs. Anything else, such as a pipe, is never opened
    /// (`InvalidInput`).
    async fn open(&self, path: &Path, links: Links) -> Result<SystemLog, FilesError>;

    /// Starts `journalctl` with these arguments.
    fn journal(&self, arguments: &[String]) -> Result<JournalOutput, FilesError>;
}

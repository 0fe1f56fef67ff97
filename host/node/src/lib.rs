//! The machine under the agent: time, files, facts about the node, and manifests on its disk.
#![forbid(unsafe_code)]

mod clock;
mod file_source;
mod node_info;
mod pod_files;
mod state_store;

pub use clock::{SystemClock, ThreadJitter};
pub use file_source::{FILE_CHECK_INTERVAL, FileSource, Outcome, Report, ReportReason, check_path};
pub use node_info::{NODE_REFRESH_INTERVAL, NodeError, NodeInfo, NodeOptions, PODS_MAX_DEFAULT};
pub use pod_files::NodePodFiles;
pub use state_store::{FileStateStore, STATE_BYTES_MAX};

use std::io;
use std::path::Path;

use witlet_ports::FilesError;

/// A failure of the disk in the port's words.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FilesError {
    move |cause| FilesError { action, path: path.to_owned(), cause }
}

/// Runs blocking work of the disk beside the async threads.
async fn blocking<T: Send + 'static>(
    action: &'static str,
    path: &Path,
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, FilesError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // Only a runtime that is shutting down doesn't finish the work.
        Err(error) => Err(FilesError { action, path: path.to_owned(), cause: io::Error::other(error) }),
    }
}

/// Whether a foreign word can be one folder's name: no way out, nothing hidden.
fn is_folder_name(name: &str) -> bool {
    const NAME_BYTES_MAX: usize = 255;
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && !name.contains(['/', '\0'])
}

//! The recorded calls that the command line names: files, and folders of them.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// How many recorded calls are compared at most.
pub(super) const RECORDINGS_MAX: usize = 10_000;

/// Why there are no recorded calls.
#[derive(Debug, Error)]
pub(crate) enum RecordingsError {
    /// A folder can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// A folder has none.
    #[error(
        "{} has no recorded calls (*.json): a plugin's are in witlet/recorded/PLUGIN below the daemon's --root-dir, if its entry has `record: {{max: N}}`",
        path.display()
    )]
    Empty { path: PathBuf },
    /// More than anyone would check.
    #[error("there are more than {RECORDINGS_MAX} recorded calls: name fewer")]
    TooMany,
}

/// Returns all of them, those of a folder by their names, so that the oldest come first.
pub(super) fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>, RecordingsError> {
    let mut found = Vec::new();
    for path in named {
        if path.is_dir() {
            found.extend(of_folder(path)?);
        } else {
            found.push(path.clone());
        }
        if found.len() > RECORDINGS_MAX {
            return Err(RecordingsError::TooMany);
        }
    }
    Ok(found)
}

fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, RecordingsError> {
    let failed = |cause| RecordingsError::Read { path: folder.to_owned(), cause };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
        if found.len() > RECORDINGS_MAX {
            return Err(RecordingsError::TooMany);
        }
    }
    if found.is_empty() {
        return Err(RecordingsError::Empty { path: folder.to_owned() });
    }
    found.sort();
    Ok(found)
}

//! The files of the command line, read within bounds.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;

use crate::bounded;

/// What stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// A file can't be read.
#[derive(Debug, Error)]
#[error("failed to read {}", shown(path))]
pub(crate) struct ReadError {
    path: PathBuf,
    #[source]
    cause: std::io::Error,
}

/// Reads files. What can be read only once, such as standard input, is kept.
#[derive(Debug, Default)]
pub(in crate::plugin) struct Files {
    kept: BTreeMap<PathBuf, Vec<u8>>,
}

impl Files {
    /// The bytes of a file, which has at most [`MANIFEST_BYTES_MAX`].
    pub(super) fn read(&mut self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let failed = |cause| ReadError { path: path.to_owned(), cause };
        let bytes = self.beginning(path).map_err(failed)?;
        bounded::whole(bytes.as_slice(), MANIFEST_BYTES_MAX as u64).map_err(failed)
    }

    /// The same of a file that is text.
    pub(super) fn read_text(&mut self, path: &Path) -> Result<String, ReadError> {
        let bytes = self.read(path)?;
        bounded::text(bytes).map_err(|cause| ReadError { path: path.to_owned(), cause })
    }

    /// The beginning of a file, by one byte longer than any may be. What is too long is kept, too: a second read would find its rest.
    fn beginning(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        if let Some(bytes) = self.kept.get(path) {
            return Ok(bytes.clone());
        }
        let (bytes, is_regular) = if path == Path::new(STANDARD_INPUT) {
            (bounded::beginning(std::io::stdin().lock(), MANIFEST_BYTES_MAX as u64)?, false)
        } else {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                let text = format!("must be a file, found a folder: use {}/*.yaml", path.display());
                return Err(std::io::Error::other(text));
            }
            (bounded::beginning(file, MANIFEST_BYTES_MAX as u64)?, metadata.is_file())
        };
        if !is_regular {
            self.kept.insert(path.to_owned(), bytes.clone());
        }
        Ok(bytes)
    }
}

/// Returns the text as people see a path.
pub(super) fn shown(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { path.display().to_string() }
}

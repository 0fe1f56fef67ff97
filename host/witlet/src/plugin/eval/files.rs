//! The files of the command line, read within bounds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;

/// What stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";
/// Of a file so much is read: one byte more than any may have, which shows that there is more.
const READ_BYTES_MAX: u64 = MANIFEST_BYTES_MAX as u64 + 1;

/// A file can't be read.
#[derive(Debug, Error)]
#[error("read {}", shown(path))]
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
        if bytes.len() > MANIFEST_BYTES_MAX {
            let text = format!("the file must have at most {MANIFEST_BYTES_MAX} bytes");
            return Err(failed(std::io::Error::other(text)));
        }
        Ok(bytes)
    }

    /// At most [`READ_BYTES_MAX`] of a file. What is too long is kept, too: a second read would find its rest.
    fn beginning(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        if let Some(bytes) = self.kept.get(path) {
            return Ok(bytes.clone());
        }
        let (bytes, is_regular) = if path == Path::new(STANDARD_INPUT) {
            (bounded(std::io::stdin().lock())?, false)
        } else {
            let file = File::open(path)?;
            let is_regular = file.metadata()?.is_file();
            (bounded(file)?, is_regular)
        };
        if !is_regular {
            self.kept.insert(path.to_owned(), bytes.clone());
        }
        Ok(bytes)
    }
}

fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As people see a path.
pub(super) fn shown(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { path.display().to_string() }
}

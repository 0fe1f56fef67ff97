//! Files with public keys whose signatures count: anyone may read them, and only root and this user may write them.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::attestation::{KEY_BYTES_MAX, KeyError};
use crate::compile::open_file;

/// What a key's file may not allow its group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a key's file doesn't count. Each says the way out.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// It can't be read.
    #[error("failed to read the key {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Others than root and this user could have put their own key there.
    #[error("the key {} isn't safe: {problem}", path.display())]
    Unsafe {
        path: PathBuf,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// The file has no such key.
    #[error("the key {} can't be used", path.display())]
    Key {
        path: PathBuf,
        /// What it has instead.
        #[source]
        cause: KeyError,
    },
}

/// Reads a public key. Blocks as long as the disk does.
///
/// # Errors
/// When the file isn't one that only root and this user can write, or `parse` finds no key in it.
pub(crate) fn read<K>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<K, KeyError>,
) -> Result<K, KeyFileError> {
    let path = || path.to_owned();
    let (text, metadata) =
        read_bounded(&path(), KEY_BYTES_MAX).map_err(|cause| KeyFileError::Read { path: path(), cause })?;
    let facts = KeyFile { owner: metadata.uid(), mode: metadata.mode() & 0o7777 };
    if let Some(problem) = facts.problem(rustix::process::geteuid().as_raw()) {
        return Err(KeyFileError::Unsafe { path: path(), problem });
    }
    parse(&text).map_err(|cause| KeyFileError::Key { path: path(), cause })
}

/// Reads the keys that count, with their files, in their order; and why the first of the others doesn't. Blocks as long as the disk
/// does.
pub(crate) fn read_all<K>(
    paths: &[PathBuf],
    parse: impl Fn(&[u8]) -> Result<K, KeyError>,
) -> (Vec<(PathBuf, K)>, Option<KeyFileError>) {
    let (mut keys, mut broken) = (Vec::new(), None);
    for path in paths {
        match read(path, &parse) {
            Ok(key) => keys.push((path.clone(), key)),
            // It doesn't count. Whether that matters depends on who signed.
            Err(error) => {
                tracing::warn!(error = witlet_core::error::one_line(&error), "Ignored a signature key");
                broken.get_or_insert(error);
            }
        }
    }
    (keys, broken)
}

/// What is judged of a key's file.
#[derive(Clone, Copy, Debug)]
struct KeyFile {
    owner: u32,
    mode: u32,
}

impl KeyFile {
    fn problem(self, user: u32) -> Option<String> {
        let Self { owner, mode } = self;
        if owner != 0 && owner != user {
            return Some(format!("it belongs to user {owner}, who could change it"));
        }
        (mode & WRITABLE_BY_OTHERS != 0)
            .then(|| format!("its mode is {mode:04o}, so that others can change it; make it 0644 or less"))
    }
}

/// A regular file's content, which may have one byte more than `bytes_max` and is too large then. Waits for no pipe.
pub(super) fn read_bounded(path: &Path, bytes_max: usize) -> io::Result<(Vec<u8>, Metadata)> {
    let file = open_file(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_root_and_of_this_user_are_safe() {
        let cases = [
            (0, 0o644, true),
            (7, 0o444, true),
            (7, 0o600, true),
            (8, 0o600, false),
            (7, 0o664, false),
            (0, 0o646, false),
            (0, 0o4644, true),
        ];
        for (owner, mode, safe) in cases {
            assert_eq!(KeyFile { owner, mode }.problem(7).is_none(), safe, "{owner} {mode:o}");
        }
    }
}

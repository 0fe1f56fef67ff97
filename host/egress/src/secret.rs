//! Secrets in files.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// A secret may be so large.
pub const SECRET_BYTES_MAX: u64 = 64 * 1024;
/// What a secret's file may not allow its group and others.
const MODE_OF_OTHERS: u32 = 0o077;

/// A secret that can't be had.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file can't be opened or read.
    #[error("failed to read the secret in {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{} must be a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// It belongs to neither root nor the user of this process.
    #[error("{} must belong to root or the agent's user, found owner {owner}", path.display())]
    Owner { path: PathBuf, owner: u32 },
    /// Others than its owner can read or write it.
    #[error("{} must have mode 0600 or 0400, found {mode:04o}", path.display())]
    Mode { path: PathBuf, mode: u32 },
    /// Larger than [`SECRET_BYTES_MAX`].
    #[error("{} must have at most {SECRET_BYTES_MAX} bytes", path.display())]
    Large { path: PathBuf },
}

/// Returns what a secret's file holds now, byte for byte. Blocks as long as the disk does. Links are followed, as mounted secrets
/// are links; what they lead to is judged.
///
/// # Errors
/// The file can't be read, isn't a regular file, belongs to another user, is open to others, or is too large.
pub fn read_secret(path: &Path) -> Result<Arc<[u8]>, SecretError> {
    let failed = |cause| SecretError::Read { path: path.to_owned(), cause };
    // A pipe in the file's place would be waited for.
    let flags =
        i32::try_from((OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).expect("flags of open are few bits");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    judge(path, &Facts::of(&metadata), rustix::process::geteuid().as_raw())?;
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    // It may have grown since it was judged.
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(SecretError::Large { path: path.to_owned() });
    }
    Ok(bytes.into())
}

/// What is judged of a file.
#[derive(Clone, Copy, Debug)]
struct Facts {
    is_file: bool,
    owner: u32,
    mode: u32,
    bytes: u64,
}

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self {
            is_file: metadata.is_file(),
            owner: metadata.uid(),
            mode: metadata.mode() & 0o7777,
            bytes: metadata.len(),
        }
    }
}

/// Whether a file may hold a secret of a process that runs as this user.
fn judge(path: &Path, facts: &Facts, user: u32) -> Result<(), SecretError> {
    let path = || path.to_owned();
    if !facts.is_file {
        return Err(SecretError::NotAFile { path: path() });
    }
    if facts.owner != 0 && facts.owner != user {
        return Err(SecretError::Owner { path: path(), owner: facts.owner });
    }
    if facts.mode & MODE_OF_OTHERS != 0 {
        return Err(SecretError::Mode { path: path(), mode: facts.mode });
    }
    if facts.bytes > SECRET_BYTES_MAX {
        return Err(SecretError::Large { path: path() });
    }
    Ok(())
}

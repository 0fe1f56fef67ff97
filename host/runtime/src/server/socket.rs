//! The socket that the runtime answers at.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::UnixListener;

/// Only the owner may talk to the runtime: it starts programs.
const SOCKET_MODE: u32 = 0o600;

/// The socket can't be had.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Another runtime answers there.
    #[error("another process already serves {}", path.display())]
    Answered { path: PathBuf },
    /// Something else has the name.
    #[error("{} is there already and no socket", path.display())]
    NoSocket { path: PathBuf },
    #[error("failed to listen at {}", path.display())]
    Listen {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// Listens at `path`, in the place of the socket that an earlier process left there, if no one answers at it. The new
/// one is closed to others before it can be found: it gets its name when it has its mode.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, SocketError> {
    let own = || path.to_owned();
    if UnixStream::connect(path).is_ok() {
        return Err(SocketError::Answered { path: own() });
    }
    if fs::symlink_metadata(path).is_ok_and(|there| !there.file_type().is_socket()) {
        return Err(SocketError::NoSocket { path: own() });
    }
    let unnamed = path.with_extension("new");
    let bind = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::remove_file(&unnamed) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&unnamed)?;
        fs::set_permissions(&unnamed, fs::Permissions::from_mode(SOCKET_MODE))?;
        fs::rename(&unnamed, path)?;
        Ok(listener)
    };
    bind().map_err(|cause| SocketError::Listen { path: own(), cause })
}

#[cfg(test)]
mod tests;

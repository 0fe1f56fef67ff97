//! The socket that the runtime answers at.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::UnixListener;

/// Only the owner may talk to the runtime: it starts programs.
const SOCKET_MODE: u32 = 0o600;

/// The socket can't be had.
#[derive(Debug, Error)]
#[error("listen at {}", path.display())]
pub struct SocketError {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Listens at `path`, in the place of whatever socket an earlier process left there. It is closed to others before
/// it can be found: it gets its name when it has its mode.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, SocketError> {
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
    bind().map_err(|cause| SocketError { path: path.to_owned(), cause })
}

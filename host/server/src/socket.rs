//! A unix socket that only its owner can open.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

/// Bytes of a socket's path, by unix(7): `sun_path` has 108 with the zero at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Why the socket couldn't be made.
#[derive(Debug, Error)]
pub enum BindError {
    /// Another process answers on it.
    #[error("{} is in use by another process: stop it, or set another path with --api-socket", path.display())]
    InUse { path: PathBuf },
    /// Something that isn't a socket has that name.
    #[error("{} exists and is not a socket: move it, or set another path with --api-socket", path.display())]
    NotASocket { path: PathBuf },
    /// The kernel takes no path as long as this.
    #[error(
        "{} has {} bytes, a socket path must have at most {SOCKET_PATH_BYTES_MAX}: set a shorter one with --api-socket",
        path.display(), path.as_os_str().len()
    )]
    TooLong { path: PathBuf },
    /// The file system said no.
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// A listening socket with mode 0600 in a folder with mode 0700. The file goes when this is dropped.
#[derive(Debug)]
pub struct RootOnlySocket {
    path: PathBuf,
    listener: Option<UnixListener>,
}

impl RootOnlySocket {
    /// Binds the path. A socket that a dead process left behind is replaced; one that answers is not.
    ///
    /// # Errors
    /// Another process answers on it, something that isn't a socket has the path, or the file system refuses.
    pub async fn bind(path: &Path) -> Result<Self, BindError> {
        if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(BindError::TooLong { path: path.to_owned() });
        }
        let io = |action| move |cause| BindError::Io { action, path: path.to_owned(), cause };
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.exists()) {
            std::fs::create_dir_all(folder).map_err(io("create the folder of"))?;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
                .map_err(io("close the folder of"))?;
        }
        match std::fs::symlink_metadata(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(io("check")(cause)),
            Ok(found) if !found.file_type().is_socket() => {
                return Err(BindError::NotASocket { path: path.to_owned() });
            }
            Ok(_) if UnixStream::connect(path).await.is_ok() => {
                return Err(BindError::InUse { path: path.to_owned() });
            }
            Ok(_) => std::fs::remove_file(path).map_err(io("remove the stale socket"))?,
        }
        let listener = UnixListener::bind(path).map_err(io("listen on"))?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(io("close"))?;
        Ok(Self { path: path.to_owned(), listener: Some(listener) })
    }

    /// Hands out the listener; the file stays this value's.
    pub(crate) fn take_listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }
}

impl Drop for RootOnlySocket {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the next start replaces a stale socket.
        let _ = std::fs::remove_file(&self.path);
    }
}

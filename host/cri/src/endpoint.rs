//! The address of a runtime: a unix socket.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// Longest path that fits into a socket address on Linux (`sun_path` with its end), in bytes.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A runtime's unix socket by absolute path. Parses `unix:///path` and `/path`, displays as `unix:///path`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint(PathBuf);

/// Why a text isn't the address of a runtime.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EndpointError {
    #[error(
        "runtime endpoint must not be empty: set a socket such as unix:///run/containerd/containerd.sock"
    )]
    Empty,
    /// Another kind of address.
    #[error(
        "runtime endpoint {endpoint:?}: scheme must be unix, as in unix:///path/to/socket, found {scheme}"
    )]
    Scheme {
        endpoint: String,
        /// What stands before `://`.
        scheme: String,
    },
    /// A path that depends on the working directory.
    #[error("runtime endpoint {endpoint:?}: the socket path must be absolute, as in unix:///path/to/socket")]
    NotAbsolute { endpoint: String },
    /// The kernel has no space for it.
    #[error("runtime endpoint {endpoint:?}: the socket path must have at most {SOCKET_PATH_BYTES_MAX} bytes")]
    TooLong { endpoint: String },
    /// The kernel would see another path.
    #[error("runtime endpoint {endpoint:?}: the path must not contain NUL")]
    ZeroByte { endpoint: String },
}

impl Endpoint {
    /// The socket's path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let endpoint = text.to_owned();
        if text.is_empty() {
            return Err(EndpointError::Empty);
        }
        let path = match text.split_once("://") {
            Some(("unix", path)) => path,
            Some((scheme, _)) => {
                return Err(EndpointError::Scheme { scheme: scheme.to_owned(), endpoint });
            }
            None => text,
        };
        if !path.starts_with('/') {
            return Err(EndpointError::NotAbsolute { endpoint });
        }
        if path.len() > SOCKET_PATH_BYTES_MAX {
            return Err(EndpointError::TooLong { endpoint });
        }
        if path.contains('\0') {
            return Err(EndpointError::ZeroByte { endpoint });
        }
        Ok(Self(PathBuf::from(path)))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix://{}", self.0.display())
    }
}

#[cfg(test)]
mod tests;

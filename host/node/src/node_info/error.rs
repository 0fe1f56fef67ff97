//! Why the node can't be described.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why the node can't be described.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A file of the kernel can't be read.
    #[error("read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file of the kernel says something unexpected.
    #[error("{} doesn't say {what}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// The name can't be a node's.
    #[error("{name:?} can't be a node's name: lower-case letters, digits, `-` and `.` are (set --node-name)")]
    Name {
        /// The host's name or the override.
        name: String,
    },
    /// An address can't be a node's.
    #[error("{address} can't be a node's address: {reason} (set --node-ip)")]
    Address {
        /// Which.
        address: IpAddr,
        /// Why not.
        reason: &'static str,
    },
}

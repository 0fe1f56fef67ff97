//! Why the node can't be described.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why the node can't be described.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A file of the kernel can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A file of the kernel says something unexpected.
    #[error("{} does not have {what}", path.display())]
    Content {
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// The name can't be a node's.
    #[error("node name must have lower-case letters, digits, `-` and `.`, found {name:?}; set --node-name")]
    Name {
        /// The host's name or the override.
        name: String,
    },
    /// An address can't be a node's.
    #[error("node address {address} is not usable: {reason}; set --node-ip")]
    Address { address: IpAddr, reason: &'static str },
}

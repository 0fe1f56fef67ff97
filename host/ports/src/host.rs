//! The port to files of the machine that pods' own are made from.

use async_trait::async_trait;

use crate::FilesError;

/// What the machine knows of the network. Read again whenever a pod is made: it changes with the machine's network.
#[async_trait]
pub trait HostFiles: Send + Sync {
    /// Where the machine's resolv.conf is, for messages.
    fn resolv_conf_place(&self) -> String;

    /// Content of the machine's resolv.conf. None if pods shall not have it.
    async fn resolv_conf(&self) -> Result<Option<String>, FilesError>;

    /// Content of the machine's hosts file; empty if there is none.
    async fn etc_hosts(&self) -> Result<String, FilesError>;
}

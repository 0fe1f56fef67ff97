//! What polling needs to know of a plugin that is a pod source, and of the node.

use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use witlet_core::pod::SourceName;
use witlet_core::sources::plugin::PodNews;
use witlet_core::sources::polling::{Polled, Settings};
use witlet_ports::{Clock, EventSink, Jitter, SourceHealth, SourceNotifyError, StateStore};

/// A plugin that is a source.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::host) struct SourceSpec {
    pub(in crate::host) name: SourceName,
    pub(in crate::host) settings: Settings,
    /// The plugin's own configuration, which a cursor belongs to.
    pub(in crate::host) config: Arc<str>,
    /// Whether it may keep something over a restart of the agent.
    pub(in crate::host) keeps_state: bool,
    /// Whether it wants to know the status of its pods.
    pub(in crate::host) listens: bool,
    /// Whether it wants to know which of its pods are left out.
    pub(in crate::host) wants_left_out: bool,
    /// Another number whenever other code runs.
    pub(in crate::host) version: usize,
}

impl SourceSpec {
    /// Returns the digest of the configuration, so that a cursor isn't handed to a source that reads elsewhere now.
    pub(in crate::host) fn config_digest(&self) -> String {
        hex::encode(Sha256::digest(self.config.as_bytes()))
    }

    /// Where what it left is kept: a name that a [`StateStore`] takes, whatever the source's is.
    pub(in crate::host) fn state_name(&self) -> String {
        let digest = hex::encode(Sha256::digest(self.name.as_str().as_bytes()));
        format!("source-{}", &digest[..16])
    }
}

/// The plugins that are sources, as far as polling is concerned.
#[async_trait]
pub(in crate::host) trait SourcePlugins: Send + Sync + 'static {
    /// Returns all of them, also those that aren't loaded: their pods are theirs.
    fn sources(&self) -> Vec<SourceSpec>;

    /// Changes whenever one of them may have changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Asks one of them. Dropping the future ends the call.
    async fn poll(&self, name: &SourceName, cursor: Option<&str>) -> Polled;

    /// Passes news of its pods to one of them.
    async fn tell(&self, name: &SourceName, news: Vec<PodNews>) -> Result<(), SourceNotifyError>;
}

/// What the sources of plugins need next to the plugins.
pub struct SourcesConfig {
    /// This node's name, which the names of pods end in.
    pub node_name: String,
    /// Keeps what a source had for the next start.
    pub state: Arc<dyn StateStore>,
    /// Receives events about failures, and about pods that aren't run.
    pub events: Arc<dyn EventSink>,
    /// Shows which sources can't be read.
    pub health: Arc<SourceHealth>,
    pub clock: Arc<dyn Clock>,
    /// Keeps sources that failed together from being asked together.
    pub jitter: Arc<dyn Jitter>,
}

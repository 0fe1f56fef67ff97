//! The port to the machine's facts.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::node::NodeFacts;

/// The node as it is now, and whenever it changes.
#[async_trait]
pub trait NodeWatch: Send + Sync {
    /// A receiver that holds the newest facts.
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>>;

    /// Reads the node again now, for a decision that must not rest on old facts. Takes at most a few seconds; what can't be
    /// read stays as it was.
    async fn read_again(&self) -> Arc<NodeFacts>;
}

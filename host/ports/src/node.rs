//! The port to the machine's facts.

use std::sync::Arc;

use tokio::sync::watch;
use witlet_core::node::NodeFacts;

/// The node as it is now, and whenever it changes.
pub trait NodeWatch: Send + Sync {
    /// A receiver that holds the newest facts.
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>>;
}

//! A node that stays as it is, for commands that stand for one.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::node::NodeFacts;
use witlet_ports::NodeWatch;

/// A node with these facts.
pub(crate) struct FixedNode(watch::Sender<Arc<NodeFacts>>);

impl FixedNode {
    pub(crate) fn new(facts: impl Into<Arc<NodeFacts>>) -> Self {
        Self(watch::Sender::new(facts.into()))
    }
}

#[async_trait]
impl NodeWatch for FixedNode {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

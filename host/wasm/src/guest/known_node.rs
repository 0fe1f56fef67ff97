//! The node that a host is on, for guests that aren't asked about a pod.

use std::sync::Arc;

use tokio::sync::watch;
use witlet_core::node::NodeFacts;
use witlet_ports::NodeWatch;

/// The newest facts of the node, where there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNode(Option<watch::Receiver<Arc<NodeFacts>>>);

impl KnownNode {
    pub(crate) fn watched(node: &dyn NodeWatch) -> Self {
        Self(Some(node.watch()))
    }

    pub(crate) fn newest(&self) -> Option<Arc<NodeFacts>> {
        self.0.as_ref().map(|newest| newest.borrow().clone())
    }
}

//! The node as admission handlers are shown it: the machine's facts, with what the agent decided on and measured.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;
use tokio::time::Instant;
use witlet_core::node::NodeFacts;
use witlet_core::node::for_handlers::for_handlers;
use witlet_core::node::measured::NodeUsage;
use witlet_core::node::observed::{ObservedNode, runtime_classes};
use witlet_ports::ClusterObjects;

/// What the last check of the machine said, and when it was; none before the first.
pub(crate) type LastUsage = Option<(Instant, NodeUsage)>;

/// Where it is read from. Nothing is measured for a question.
#[derive(Clone)]
pub(crate) struct HandlersNode {
    pub(crate) machine: watch::Receiver<Arc<NodeFacts>>,
    pub(crate) usage: watch::Receiver<LastUsage>,
    pub(crate) objects: Arc<dyn ClusterObjects>,
    /// Of the node's own configuration.
    pub(crate) runtime_classes: Arc<BTreeMap<String, String>>,
}

impl HandlersNode {
    /// The node now. `agent` is as the agent publishes it.
    pub(crate) fn now(&self, agent: &Node) -> Arc<NodeFacts> {
        let used = self.usage.borrow().as_ref().map(|(at, usage)| usage.after(at.elapsed()));
        let observed = ObservedNode {
            used: used.unwrap_or_default(),
            runtime_classes: runtime_classes(&self.runtime_classes, self.objects.runtime_classes()),
        };
        for_handlers(&self.machine.borrow(), agent, observed)
    }
}

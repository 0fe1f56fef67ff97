//! The node as admission and pods see it: the machine's facts with what others wrote on the node's object.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_core::node::{NodeFacts, overlay};
use witlet_ports::NodeWatch;

use super::api::NodeApi;

/// The machine's facts below the API server's object. Until that is known the machine's word stands alone.
pub struct ClusterNode {
    machine: Arc<dyn NodeWatch>,
    api: NodeApi,
    object: watch::Receiver<Option<Arc<Node>>>,
    facts: watch::Sender<Arc<NodeFacts>>,
}

impl ClusterNode {
    /// `object` is the manager's ([`super::NodeManager::node`]).
    pub fn new(
        machine: Arc<dyn NodeWatch>,
        client: kube::Client,
        node_name: &str,
        object: watch::Receiver<Option<Arc<Node>>>,
    ) -> Arc<Self> {
        let facts = machine.watch().borrow().clone();
        let api = NodeApi::new(&client, node_name);
        Arc::new(Self { machine, api, object, facts: watch::Sender::new(facts) })
    }

    /// Passes on what changes until `stop` is cancelled.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut machine, mut object) = (self.machine.watch(), self.object.clone());
        loop {
            let facts = machine.borrow_and_update().clone();
            let node = object.borrow_and_update().clone();
            self.publish(&facts, node.as_deref());
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Anyone who ended says nothing new any more; the other goes on.
                Ok(()) = machine.changed() => {}
                Ok(()) = object.changed() => {}
                else => return stop.cancelled().await,
            }
        }
    }

    fn publish(&self, facts: &Arc<NodeFacts>, node: Option<&Node>) -> Arc<NodeFacts> {
        let mut seen = match node {
            Some(node) => Arc::new(overlay(facts, node)),
            None => facts.clone(),
        };
        self.facts.send_if_modified(|known| {
            let is_new = **known != *seen;
            if is_new {
                *known = seen.clone();
            } else {
                seen = known.clone();
            }
            is_new
        });
        seen
    }
}

#[async_trait]
impl NodeWatch for ClusterNode {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.facts.subscribe()
    }

    /// The API server is asked, too, as upstream does before an affinity counts as failed; if it can't be, what is known of it
    /// stands.
    async fn read_again(&self) -> Arc<NodeFacts> {
        let (facts, node) = tokio::join!(self.machine.read_again(), self.api.get());
        match node {
            Ok(node) => self.publish(&facts, Some(&node)),
            Err(_) => self.publish(&facts, self.object.borrow().clone().as_deref()),
        }
    }
}

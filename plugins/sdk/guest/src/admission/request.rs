//! The question.

use super::backend;
use crate::{Datetime, Node, Operation, Pod};

/// One question to a handler. It is valid during the call only.
///
/// ```
/// # use witlet_plugin_sdk::Operation;
/// # use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
/// let facts = RequestFacts { other_pods: vec![PodFacts::default()], ..RequestFacts::default() };
/// let request = facts.request();
/// assert_eq!((request.operation(), request.other_pods().len()), (Operation::Add, 1));
/// ```
#[derive(Debug)]
pub struct Request<'a>(&'a backend::Request);

impl<'a> Request<'a> {
    /// Wraps what the host (or, outside a component, the facts) gives.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "called by the export macro and the facts only")]
    pub fn __from_host(request: &'a backend::Request) -> Self {
        Self(request)
    }

    /// Whether the pod is new or asks for other resources. A refused resize leaves the pod as it is; the reason
    /// `Infeasible` is final then, anything else is asked again.
    pub fn operation(&self) -> Operation {
        self.0.operation()
    }

    /// The time of the decision. The component's clocks stand still at it.
    pub fn now(&self) -> Datetime {
        self.0.now()
    }

    /// The pod that asks.
    pub fn pod(&self) -> Pod {
        Pod::new(self.0.pod())
    }

    /// The node.
    pub fn node(&self) -> Node {
        Node::new(self.0.node())
    }

    /// The pods that were admitted and have not ended, without the one that asks, ordered by namespace and name.
    /// For what they take together, [`Node::requested`] and [`Node::used_host_ports`] cost less.
    pub fn other_pods(&self) -> Vec<Pod> {
        self.0.other_pods().into_iter().map(Pod::new).collect()
    }
}

//! The question.

use super::backend;
use super::node::Node;
use super::pod::Pod;
use super::resolved::ResolvedImage;
use crate::{Datetime, Operation};

/// One question to a handler. It is valid during the call only.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::Operation;
/// # use witlet_plugin_sdk_0_2::facts::{PodFacts, RequestFacts};
/// let pod = PodFacts::of(&json!({"metadata": {"name": "other"}}));
/// let facts = RequestFacts { other_pods: vec![pod], ..RequestFacts::default() };
/// let request = facts.request();
/// assert_eq!(request.operation(), Operation::Add);
/// assert_eq!(request.other_pods().map(|pod| pod.name()).collect::<Vec<_>>(), ["other"]);
/// ```
#[derive(Debug)]
pub struct Request<'a>(&'a backend::Request);

impl<'a> Request<'a> {
    pub(crate) fn new(request: &'a backend::Request) -> Self {
        Self(request)
    }

    /// What is about to happen to the pod.
    pub fn operation(&self) -> Operation {
        self.0.operation().into()
    }

    /// The time of the decision. The component's clocks stand still at it.
    pub fn now(&self) -> Datetime {
        self.0.now()
    }

    /// The pod that asks, as it is to be.
    pub fn pod(&self) -> Pod {
        Pod(self.0.pod())
    }

    /// The pod as it runs; none of a new one, and where the host doesn't know.
    pub fn old_pod(&self) -> Option<Pod> {
        self.0.old_pod().map(Pod)
    }

    /// The image that a container is to be started from; of [`Operation::ImageResolved`] alone.
    pub fn image(&self) -> Option<ResolvedImage> {
        self.0.image().map(ResolvedImage)
    }

    /// The node.
    pub fn node(&self) -> Node {
        Node(self.0.node())
    }

    /// The pods that were admitted and have not ended, without the one that asks, with their allocated resources; ordered by namespace
    /// and name. For what they take together, [`Node::requested`] costs less.
    pub fn other_pods(&self) -> impl ExactSizeIterator<Item = Pod> + use<> {
        self.0.other_pods().into_iter().map(Pod)
    }
}

//! A question in plain data.

use serde_json::Value;

use super::node::{NodeFacts, NodeView};
use super::pod::PodFacts;
use super::resolved::{ResolvedImage, ResolvedImageFacts};
use crate::{Datetime, Operation, Request};

/// A question in plain data. The default is the addition of a pod with nothing in it to a node with nothing in it in 1970.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::Operation;
/// # use witlet_plugin_sdk_0_2::facts::{PodFacts, RequestFacts};
/// let (before, now) = (json!({"metadata": {"name": "before"}}), json!({"metadata": {"name": "now"}}));
/// let facts = RequestFacts::of(&now).changing(Operation::Update, &before);
/// assert_eq!(facts.request().operation(), Operation::Update);
/// assert_eq!(facts.request().old_pod().map(|pod| pod.name()).as_deref(), Some("before"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFacts {
    /// What is about to happen.
    pub operation: Operation,
    /// The time of the decision.
    pub now: Datetime,
    /// The pod that asks.
    pub pod: PodFacts,
    /// The pod as it runs.
    pub old_pod: Option<PodFacts>,
    /// The image that a container is to be started from.
    pub image: Option<ResolvedImageFacts>,
    /// The node.
    pub node: NodeFacts,
    /// The other admitted pods.
    pub other_pods: Vec<PodFacts>,
}

impl Default for RequestFacts {
    fn default() -> Self {
        Self {
            operation: Operation::Add,
            now: Datetime { seconds: 0, nanoseconds: 0 },
            pod: PodFacts::default(),
            old_pod: None,
            image: None,
            node: NodeFacts::default(),
            other_pods: Vec::new(),
        }
    }
}

impl RequestFacts {
    /// The addition of a manifest's pod.
    pub fn of(manifest: &Value) -> Self {
        Self { pod: PodFacts::of(manifest), ..Self::default() }
    }

    /// The same about a pod that runs, and was another one until now.
    #[must_use]
    pub fn changing(self, operation: Operation, old: &Value) -> Self {
        Self { operation, old_pod: Some(PodFacts::of(old)), ..self }
    }

    /// The same about an image that a container of the pod is to start from.
    #[must_use]
    pub fn starting(self, image: ResolvedImageFacts) -> Self {
        Self { operation: Operation::ImageResolved, image: Some(image), ..self }
    }

    /// The question as a handler takes it.
    pub fn request(&self) -> Request<'_> {
        Request::new(self)
    }

    pub(crate) fn operation(&self) -> String {
        self.operation.as_str().to_owned()
    }

    pub(crate) fn now(&self) -> Datetime {
        self.now
    }

    pub(crate) fn pod(&self) -> PodFacts {
        self.pod.clone()
    }

    pub(crate) fn old_pod(&self) -> Option<PodFacts> {
        self.old_pod.clone()
    }

    pub(crate) fn image(&self) -> Option<ResolvedImage> {
        let facts = self.image.clone()?;
        let container = self.pod.containers().into_iter().find(|it| it.name() == facts.container)?;
        Some(ResolvedImage { facts, container })
    }

    pub(crate) fn node(&self) -> NodeView {
        NodeView::new(self.node.clone(), self.other_pods.clone())
    }

    pub(crate) fn other_pods(&self) -> Vec<PodFacts> {
        self.other_pods.clone()
    }
}

//! An image that is on the node.

use super::backend;
use super::container::Container;

/// The image that a container is to be started from, as the node has it: of [`Operation::ImageResolved`](crate::Operation::ImageResolved).
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::{RequestFacts, ResolvedImageFacts};
/// let pod = json!({"spec": {"containers": [{"name": "app", "image": "nginx"}]}});
/// let facts = RequestFacts::of(&pod).starting(ResolvedImageFacts { container: "app".into(), ..Default::default() });
/// let image = facts.request().image().expect("it is on the node");
/// assert_eq!((image.container().name().as_str(), image.digest()), ("app", None));
/// ```
#[derive(Debug)]
pub struct ResolvedImage(pub(super) backend::ResolvedImage);

impl ResolvedImage {
    getters! {
        /// What the runtime makes the container from, mostly the digest of the image's configuration.
        id() -> String;
        /// The digest that the image has in the repository that the pod names; none if the node knows of none.
        digest() -> Option<String>;
        /// Its bytes on the node; none if the runtime doesn't say.
        size() -> Option<u64>;
        /// `secret` or `node`, whose credentials opened the registry; none if that isn't known.
        credentials() -> Option<String>;
    }

    /// The container. Its image is named as the pod has it.
    pub fn container(&self) -> Container {
        Container(self.0.container())
    }
}

//! An image.

use std::fmt;

use super::backend;

/// An image that a pod names, taken apart. Shows as `image "docker.io/library/nginx:latest" (spec.containers[0].image)` in messages.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::RequestFacts;
/// let facts = RequestFacts::of(&json!({"spec": {"containers": [{"name": "app", "image": "nginx"}]}}));
/// let image = facts.request().pod().images().next().expect("it has one");
/// assert_eq!((image.registry().as_deref(), image.tag().as_deref()), (Some("docker.io"), Some("latest")));
/// ```
#[derive(Debug)]
pub struct Image(pub(super) backend::Image);

impl Image {
    getters! {
        /// As written; empty if nothing is.
        reference() -> String;
        /// Where in the pod: `spec.containers[0].image`, `spec.volumes[2].image.reference`.
        place() -> String;
        /// In full: `docker.io/library/nginx:latest`. As written if it is in no registry (`file:/opt/app.wasm`) or no reference.
        name() -> String;
        /// The registry with its port, such as `docker.io`; none if it is in no registry.
        registry() -> Option<String>;
        /// The path in the registry, such as `library/nginx`.
        repository() -> Option<String>;
        /// The tag; `latest` if it names neither tag nor digest.
        tag() -> Option<String>;
        /// The digest, such as `sha256:…`, if it names one.
        digest() -> Option<String>;
    }

    /// Whether it is in this registry, or below this path of one: `docker.io`, `docker.io/library`. In whole parts between slashes.
    ///
    /// ```
    /// # use serde_json::json;
    /// # use witlet_plugin_sdk_0_2::facts::RequestFacts;
    /// let facts = RequestFacts::of(&json!({"spec": {"containers": [{"name": "app", "image": "nginx"}]}}));
    /// let image = facts.request().pod().images().next().expect("it has one");
    /// assert!(image.is_within("docker.io") && image.is_within("docker.io/library") && !image.is_within("docker.io/lib"));
    /// ```
    pub fn is_within(&self, place: &str) -> bool {
        let (Some(registry), Some(repository)) = (self.registry(), self.repository()) else { return false };
        let full = format!("{registry}/{repository}");
        full.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {:?} ({})", self.name(), self.place())
    }
}

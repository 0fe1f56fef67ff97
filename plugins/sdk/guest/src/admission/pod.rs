//! A pod, read lazily.

use serde::de::DeserializeOwned;

use super::backend;
use crate::{Container, Error, HostPort, PodRef, QosClass, Quantity};

/// A pod. Only what is asked for crosses into the component, again at every call: some hundred nanoseconds, and more for
/// longer answers.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
/// let pod = PodFacts::of(&json!({
///     "metadata": {"name": "web", "namespace": "shop", "labels": {"team": "red"}},
///     "spec": {"containers": [{"name": "app", "image": "nginx"}]},
/// }));
/// let facts = RequestFacts { pod, ..RequestFacts::default() };
/// let pod = facts.request().pod();
/// assert_eq!(pod.identity().namespace, "shop");
/// assert_eq!(pod.label("team").as_deref(), Some("red"));
/// assert_eq!(pod.containers()[0].image, "nginx");
/// ```
#[derive(Debug)]
pub struct Pod(backend::Pod);

impl Pod {
    pub(crate) fn new(pod: backend::Pod) -> Self {
        Self(pod)
    }

    /// Namespace, name and UID.
    pub fn identity(&self) -> PodRef {
        self.0.identity()
    }

    /// The source that brought it: `file`, `http`, `api`, or a plugin's name.
    pub fn source(&self) -> String {
        self.0.source()
    }

    /// `metadata.labels`, sorted by key.
    pub fn labels(&self) -> Vec<(String, String)> {
        self.0.labels()
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<String> {
        value_of(self.labels(), key)
    }

    /// `metadata.annotations`, sorted by key.
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.0.annotations()
    }

    /// The value of one annotation.
    pub fn annotation(&self, key: &str) -> Option<String> {
        value_of(self.annotations(), key)
    }

    /// `spec.priority`, or 0.
    pub fn priority(&self) -> i32 {
        self.0.priority()
    }

    /// All containers with their images: init containers and sidecars, app containers, ephemeral containers, each in
    /// the spec's order.
    pub fn containers(&self) -> Vec<Container> {
        self.0.containers()
    }

    /// What the pod counts for on the node, sorted by resource: milli-CPU for `cpu`, base units for everything else.
    /// `pods` isn't among them.
    pub fn requests(&self) -> Vec<Quantity> {
        self.0.requests()
    }

    /// Ports that the pod takes on the host, in the spec's order.
    pub fn host_ports(&self) -> Vec<HostPort> {
        self.0.host_ports()
    }

    /// Quality of service class.
    pub fn qos(&self) -> QosClass {
        self.0.qos()
    }

    /// The whole pod as JSON text. Decoding it costs far more than the call: prefer getters and [`Pod::at`].
    pub fn json(&self) -> String {
        self.0.json()
    }

    /// The JSON text at a JSON pointer (RFC 6901) such as `/spec/nodeSelector`; none where the pod has nothing.
    pub fn pointer(&self, path: &str) -> Option<String> {
        self.0.pointer(path)
    }

    /// The value at a JSON pointer (RFC 6901), decoded; none where the pod has nothing or `null`.
    ///
    /// ```
    /// # use witlet_plugin_sdk::{Error, facts::{PodFacts, RequestFacts}};
    /// let manifest = serde_json::json!({"spec": {"hostname": "web-0"}});
    /// let facts = RequestFacts { pod: PodFacts { manifest, ..PodFacts::default() }, ..RequestFacts::default() };
    /// let hostname: Option<String> = facts.request().pod().at("/spec/hostname")?;
    /// assert_eq!(hostname.as_deref(), Some("web-0"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When the value is there, but isn't of that type.
    pub fn at<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        decode(self.pointer(path), path)
    }
}

/// The value of a key in a list of pairs.
pub(crate) fn value_of(pairs: Vec<(String, String)>, key: &str) -> Option<String> {
    pairs.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Decodes what a pointer has led to.
pub(crate) fn decode<T: DeserializeOwned>(text: Option<String>, path: &str) -> Result<Option<T>, Error> {
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text).map_err(|cause| Error::Decode { field: path.to_owned(), cause })
}

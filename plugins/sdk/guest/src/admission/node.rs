//! The node, read lazily.

use serde::de::DeserializeOwned;

use super::backend;
use super::pod::{decode, value_of};
use crate::{Condition, Error, HostPort, Quantity, Taint};

/// The node. Only what is asked for crosses into the component, again at every call.
///
/// ```
/// # use witlet_plugin_sdk::facts::{NodeFacts, RequestFacts};
/// let facts = vec![("cgroup.version".to_owned(), "2".to_owned())];
/// let facts = RequestFacts { node: NodeFacts { facts, ..NodeFacts::default() }, ..RequestFacts::default() };
/// let node = facts.request().node();
/// assert_eq!(node.fact("cgroup.version").as_deref(), Some("2"));
/// assert_eq!(node.fact("unknown.example.com"), None);
/// ```
#[derive(Debug)]
pub struct Node(backend::Node);

impl Node {
    pub(crate) fn new(node: backend::Node) -> Self {
        Self(node)
    }

    /// `metadata.name`
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// `metadata.labels`, sorted by key.
    pub fn labels(&self) -> Vec<(String, String)> {
        self.0.labels()
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<String> {
        value_of(self.labels(), key)
    }

    /// `spec.taints`
    pub fn taints(&self) -> Vec<Taint> {
        self.0.taints()
    }

    /// `status.capacity`, sorted by resource, `pods` among them: milli-CPU for `cpu`, base units for the rest.
    pub fn capacity(&self) -> Vec<Quantity> {
        self.0.capacity()
    }

    /// `status.allocatable`, in the form of [`Node::capacity`].
    pub fn allocatable(&self) -> Vec<Quantity> {
        self.0.allocatable()
    }

    /// What the other admitted pods count for together, sorted by resource; `pods` is their number.
    pub fn requested(&self) -> Vec<Quantity> {
        self.0.requested()
    }

    /// Ports that the other admitted pods take on the host.
    pub fn used_host_ports(&self) -> Vec<HostPort> {
        self.0.used_host_ports()
    }

    /// `status.conditions`
    pub fn conditions(&self) -> Vec<Condition> {
        self.0.conditions()
    }

    /// Facts about the machine and the runtime, sorted by key, such as `cgroup.version`. A key that is missing is
    /// unknown.
    pub fn facts(&self) -> Vec<(String, String)> {
        self.0.facts()
    }

    /// One fact about the machine or the runtime.
    pub fn fact(&self, key: &str) -> Option<String> {
        value_of(self.facts(), key)
    }

    /// Devices that pods can ask for, as the JSON text of an array of `{"resource": …, "id": …, "healthy": …,
    /// "numaNodes": […], "pod": …}`; `pod` is the UID of the pod that has it and is missing while no pod has it.
    pub fn devices(&self) -> String {
        self.0.devices()
    }

    /// The whole node as JSON text.
    pub fn json(&self) -> String {
        self.0.json()
    }

    /// The JSON text at a JSON pointer (RFC 6901); none where the node has nothing.
    pub fn pointer(&self, path: &str) -> Option<String> {
        self.0.pointer(path)
    }

    /// The value at a JSON pointer (RFC 6901), decoded; none where the node has nothing or `null`.
    ///
    /// # Errors
    /// When the value is there, but isn't of that type.
    pub fn at<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        decode(self.pointer(path), path)
    }
}

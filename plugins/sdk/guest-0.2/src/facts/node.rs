//! A node of a manifest.

use serde_json::Value;

use super::amounts::{Amounts, add, amounts, names};
use super::json::{items, pairs, pointer, text};
use super::pod::{HostPort, PodFacts};

/// A node in plain data. The default has nothing.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::{NodeFacts, RequestFacts};
/// let node = NodeFacts::of(&json!({"metadata": {"name": "n1"}})).with_fact("cgroup.version", "2");
/// let facts = RequestFacts { node, ..RequestFacts::default() };
/// assert_eq!(facts.request().node().fact("cgroup.version").as_deref(), Some("2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    manifest: Value,
    facts: Vec<(String, String)>,
    devices: Value,
    used: Amounts,
}

impl NodeFacts {
    /// The node of a manifest of the kind Node, of whose machine nothing is known.
    pub fn of(manifest: &Value) -> Self {
        Self { manifest: manifest.clone(), ..Self::default() }
    }

    /// With a fact about the machine or the runtime.
    #[must_use]
    pub fn with_fact(mut self, key: &str, value: &str) -> Self {
        self.facts.retain(|(known, _)| known != key);
        self.facts.push((key.to_owned(), value.to_owned()));
        self.facts.sort();
        self
    }

    /// With what is in use of a resource.
    #[must_use]
    pub fn with_used(mut self, resource: &str, amount: i64) -> Self {
        self.used.insert(resource.to_owned(), amount);
        self
    }

    /// With devices, a JSON array as the contract has it.
    #[must_use]
    pub fn with_devices(self, devices: Value) -> Self {
        Self { devices, ..self }
    }
}

/// A node with the pods that are on it.
#[derive(Clone, Debug)]
pub(crate) struct NodeView {
    node: NodeFacts,
    pods: Vec<PodFacts>,
}

impl NodeView {
    pub(super) fn new(node: NodeFacts, pods: Vec<PodFacts>) -> Self {
        Self { node, pods }
    }

    fn manifest(&self) -> &Value {
        &self.node.manifest
    }

    fn amounts(&self, field: &str) -> Amounts {
        amounts(&self.manifest()["status"][field])
    }

    fn all_requested(&self) -> Amounts {
        let mut total = Amounts::new();
        self.pods.iter().for_each(|pod| add(&mut total, &pod.amounts("requests")));
        total.insert("pods".to_owned(), i64::try_from(self.pods.len()).unwrap_or(i64::MAX));
        total
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        let addresses = items(&self.manifest()["status"]["addresses"]).iter();
        let of_host = addresses.filter(|address| address["type"] == "InternalIP");
        of_host.map(|address| text(&address["address"])).collect()
    }

    pub(crate) fn name(&self) -> String {
        text(&self.manifest()["metadata"]["name"])
    }

    pub(crate) fn label(&self, key: &str) -> Option<String> {
        self.manifest()["metadata"]["labels"][key].as_str().map(str::to_owned)
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        pairs(&self.manifest()["metadata"]["labels"])
    }

    pub(crate) fn taints(&self) -> Vec<Taint> {
        items(&self.manifest()["spec"]["taints"]).iter().cloned().map(Taint).collect()
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<Condition> {
        self.conditions().into_iter().find(|condition| condition.kind() == kind)
    }

    pub(crate) fn conditions(&self) -> Vec<Condition> {
        items(&self.manifest()["status"]["conditions"]).iter().cloned().map(Condition).collect()
    }

    pub(crate) fn resources(&self) -> Vec<String> {
        names([&self.amounts("capacity"), &self.amounts("allocatable"), &self.all_requested()])
    }

    pub(crate) fn capacity(&self, resource: &str) -> Option<i64> {
        self.amounts("capacity").get(resource).copied()
    }

    pub(crate) fn allocatable(&self, resource: &str) -> Option<i64> {
        self.amounts("allocatable").get(resource).copied()
    }

    pub(crate) fn requested(&self, resource: &str) -> i64 {
        self.all_requested().get(resource).copied().unwrap_or_default()
    }

    pub(crate) fn available(&self, resource: &str) -> Option<i64> {
        Some(self.allocatable(resource)?.saturating_sub(self.requested(resource)))
    }

    pub(crate) fn used(&self, resource: &str) -> Option<i64> {
        self.node.used.get(resource).copied()
    }

    pub(crate) fn used_host_ports(&self) -> Vec<HostPort> {
        self.pods.iter().flat_map(PodFacts::host_ports).collect()
    }

    pub(crate) fn fact(&self, key: &str) -> Option<String> {
        self.node.facts.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }

    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        self.node.facts.clone()
    }

    pub(crate) fn devices(&self) -> String {
        match &self.node.devices {
            Value::Null => "[]".to_owned(),
            devices => devices.to_string(),
        }
    }

    pub(crate) fn json(&self) -> String {
        self.manifest().to_string()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        pointer(self.manifest(), path)
    }
}

/// A taint of the node.
#[derive(Clone, Debug)]
pub(crate) struct Taint(Value);

impl Taint {
    pub(crate) fn key(&self) -> String {
        text(&self.0["key"])
    }

    pub(crate) fn value(&self) -> String {
        text(&self.0["value"])
    }

    pub(crate) fn effect(&self) -> String {
        text(&self.0["effect"])
    }
}

/// A condition of the node.
#[derive(Clone, Debug)]
pub(crate) struct Condition(Value);

impl Condition {
    pub(crate) fn kind(&self) -> String {
        text(&self.0["type"])
    }

    pub(crate) fn status(&self) -> String {
        text(&self.0["status"])
    }

    pub(crate) fn reason(&self) -> String {
        text(&self.0["reason"])
    }

    pub(crate) fn message(&self) -> String {
        text(&self.0["message"])
    }
}

//! The node, its taints and its conditions.

use super::backend;
use super::pod::HostPort;

/// The node.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::{NodeFacts, PodFacts, RequestFacts};
/// let cpu = |amount: &str| json!({"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": amount}}}]}});
/// let facts = RequestFacts {
///     node: NodeFacts::of(&json!({"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}})),
///     other_pods: vec![PodFacts::of(&cpu("1500m"))],
///     ..RequestFacts::of(&cpu("1"))
/// };
/// assert_eq!(facts.request().node().available("cpu"), Some(2_500));
/// ```
#[derive(Debug)]
pub struct Node(pub(super) backend::Node);

impl Node {
    getters! {
        /// `metadata.name`
        name() -> String;
        /// The value of a label.
        label(key: &str) -> Option<String>;
        /// `metadata.labels`, sorted by key.
        labels() -> Vec<(String, String)>;
        /// The names of resources that it has or that are requested of it, sorted; `pods` is among them.
        resources() -> Vec<String>;
        /// How much it has of a resource.
        capacity(resource: &str) -> Option<i64>;
        /// What pods may have of it.
        allocatable(resource: &str) -> Option<i64>;
        /// What the other admitted pods count for together, 0 if nothing; of `pods` their number.
        requested(resource: &str) -> i64;
        /// What all processes of the machine use of it, as it was measured last, within the last minute: `cpu`, `memory`,
        /// `ephemeral-storage`, `pid`; none where it isn't known.
        used(resource: &str) -> Option<i64>;
        /// What is left: negative if too much is given away; none where nothing is allocatable.
        available(resource: &str) -> Option<i64>;
        /// A fact about the machine or the runtime, such as `cgroup.version`; none while it is unknown.
        fact(key: &str) -> Option<String>;
        /// All facts, sorted by key. Keys may be added at any time.
        facts() -> Vec<(String, String)>;
        /// Devices that pods can ask for, as a JSON array.
        devices() -> String;
        /// The whole node as JSON text.
        json() -> String;
    }

    parts! {
        /// `spec.taints`
        taints -> Taint;
        /// `status.conditions`
        conditions -> Condition;
        /// Ports that the other admitted pods take on the host.
        used_host_ports -> HostPort;
    }

    pointers! {}

    /// The condition of a kind, such as `MemoryPressure`.
    pub fn condition(&self, kind: &str) -> Option<Condition> {
        self.0.condition(kind).map(Condition)
    }
}

/// A taint of the node.
#[derive(Debug)]
pub struct Taint(pub(super) backend::Taint);

impl Taint {
    getters! {
        /// Its key.
        key() -> String;
        /// Empty if it has none.
        value() -> String;
        /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
        effect() -> String;
    }
}

/// A condition of the node.
#[derive(Debug)]
pub struct Condition(pub(super) backend::Condition);

impl Condition {
    getters! {
        /// Such as `MemoryPressure`.
        kind() -> String;
        /// `True`, `False` or `Unknown`.
        status() -> String;
        /// A CamelCase word; empty if it has none.
        reason() -> String;
        /// One sentence; empty if it has none.
        message() -> String;
    }
}

//! The node as admission and status see it.

pub mod facts;

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Node;

/// What is known of this machine at one moment. Immutable; a change is a new value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    /// The node's name, as in `spec.nodeName`.
    pub name: String,
    /// The object as the API server would have it: labels, taints, capacity, allocatable, conditions.
    pub node: Node,
    /// Addresses of the host, first the one that pods on the host network report.
    pub addresses: Vec<IpAddr>,
    /// Growing set of facts for plugins (`cgroup.version`, `runtime.name`, …); [`facts`] lists the keys.
    pub facts: BTreeMap<String, String>,
    /// Devices that pods can ask for, for plugins: a JSON array as `witlet:admission` describes it. Empty text is none.
    pub devices: String,
}

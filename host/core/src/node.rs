//! The node as admission and status see it.

pub mod allocatable;
pub mod compiled_code;
pub mod conditions;
pub mod facts;
pub mod for_handlers;
pub mod lease;
pub mod measured;
pub mod observed;
pub mod oom;
mod overlay;
pub mod plugin_set;
pub mod published;
pub mod readings;
pub mod registration;
pub mod startup;
pub mod status;
pub mod tunables;
pub mod update;
mod usage;

pub use overlay::overlay;
pub use usage::{ResourceUse, resource_use};

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

use observed::ObservedNode;

/// The release of Kubernetes whose node this is, as others read it of `kubeletVersion`: controllers and `kubectl` compare it
/// with their own.
pub const KUBERNETES_VERSION: &str = "v1.36.0";

/// The node's `kubeletVersion`: the release that it stands for, and this program's own version as build metadata, which
/// comparisons of versions leave aside (a pre-release would count as older than the release).
pub fn kubelet_version(own: &str) -> String {
    format!("{KUBERNETES_VERSION}+witlet.{own}")
}

/// A time as the API keeps it, without fractions of a second.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

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
    /// What the agent observes of it; nothing where a machine says what it is.
    pub observed: ObservedNode,
}

impl NodeFacts {
    /// What a node's object says, and no more: of its devices nothing is known.
    pub fn of(node: Node) -> Self {
        let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
        let internal = addresses.filter(|address| address.type_ == "InternalIP");
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            addresses: internal.filter_map(|address| address.address.parse().ok()).collect(),
            facts: facts::of_node(&node),
            devices: String::new(),
            observed: ObservedNode::default(),
            node,
        }
    }
}

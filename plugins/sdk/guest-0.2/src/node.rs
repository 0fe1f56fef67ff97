//! The node that the plugin runs on. While a handler is asked about a pod it is the node of the request, which says more of it
//! ([`Request::node`](crate::Request::node)); this is for [`validate`](crate::AdmissionHandler::validate). A host that stands for
//! no node, such as a tool that tries plugins out, knows nothing of it.
//!
//! ```
//! use serde_json::json;
//! use witlet_plugin_sdk_0_2::facts::{NodeFacts, set_node};
//! use witlet_plugin_sdk_0_2::node;
//!
//! assert_eq!(node::name(), None);
//! let labels = json!({"topology.kubernetes.io/zone": "z1"});
//! set_node(NodeFacts::of(&json!({"metadata": {"name": "n1", "labels": labels}})));
//! assert_eq!((node::name().as_deref(), node::zone().as_deref()), (Some("n1"), Some("z1")));
//! ```

#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::node as backend;
#[cfg(not(target_family = "wasm"))]
use crate::facts::here as backend;

/// `metadata.name`
pub fn name() -> Option<String> {
    backend::name()
}

/// The value of a label.
pub fn label(key: &str) -> Option<String> {
    backend::label(key)
}

/// `metadata.labels`, sorted by key.
pub fn labels() -> Vec<(String, String)> {
    backend::labels()
}

/// The label `topology.kubernetes.io/zone`.
pub fn zone() -> Option<String> {
    backend::zone()
}

/// Addresses of the host, first the one that pods on the host network report.
pub fn addresses() -> Vec<String> {
    backend::addresses()
}

/// How much of a resource pods may have.
pub fn allocatable(resource: &str) -> Option<i64> {
    backend::allocatable(resource)
}

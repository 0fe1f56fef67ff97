//! Manifests in the host's place, so that handlers can be tested as ordinary Rust. Not there on wasm.
//!
//! A probe type probes [`TargetFacts`], on real sockets. A handler is asked about [`RequestFacts`], which say what the host would: images taken apart, what counts of security contexts,
//! amounts as numbers, what a pod counts for. What the host would give of itself is set for the thread that runs the test: secrets by
//! [`set_secret`], data by [`set_data`], the node by [`set_node`], features by [`set_features`]; what was logged is taken by [`take_log`], numbers by
//! [`take_metrics`].
//!
//! Manifests are taken as they are: that a field is misspelt, or holds what it may not, is for the finished component's test
//! (`witlet plugin test`), which has the host's own eyes.

mod amounts;
mod container;
pub(crate) mod data;
mod image;
pub(crate) mod json;
pub(crate) mod metrics;
mod node;
mod pod;
mod quantity;
mod request;
mod resolved;
mod setup;

use std::cell::RefCell;

pub use data::set_data;
pub use metrics::{Metric, MetricValue, take_metrics};
pub use node::NodeFacts;
pub use pod::PodFacts;
pub use request::RequestFacts;
pub use resolved::ResolvedImageFacts;
pub use setup::{SetupFacts, validate};
pub use witlet_plugin_sdk_base::facts::{Answering, Line, ScriptedAnswer, serve_http, set_secret, take_log};

use crate::Error;
pub use crate::probe::facts::{TargetFacts, check_parameters, validate_probe_type};
pub use crate::source::facts::validate_source;
use node::NodeView;

/// What stands behind the SDK's types.
pub(crate) mod backend {
    pub(crate) use super::container::{Container, ContainerPort, Mount};
    pub(crate) use super::image::Image;
    pub(crate) use super::node::{Condition, NodeView as Node, Taint};
    pub(crate) use super::pod::{HostPort, Owner, PodFacts as Pod, Volume};
    pub(crate) use super::request::RequestFacts as Request;
    pub(crate) use super::resolved::ResolvedImage;
    pub(crate) use super::setup::SetupFacts as Setup;
}

thread_local! {
    static NODE: RefCell<Option<NodeView>> = const { RefCell::new(None) };
    static FEATURES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What [`crate::node`] gives on this thread from now on. Without, the host stands for no node.
pub fn set_node(node: NodeFacts) {
    NODE.set(Some(NodeView::new(node, Vec::new())));
}

/// What [`features::has`](crate::features::has) finds on this thread from now on. Without, the host has none.
pub fn set_features(names: &[&str]) {
    FEATURES.set(names.iter().map(|name| (*name).to_owned()).collect());
}

pub(crate) fn has_feature(name: &str) -> bool {
    FEATURES.with_borrow(|features| features.iter().any(|feature| feature == name))
}

pub(crate) fn secret(name: &str) -> Result<Vec<u8>, Error> {
    use witlet_plugin_sdk_base::{SecretError, facts};
    facts::secret(name).map_err(|error| match error {
        SecretError::NotGranted => {
            let message = format!("the plugin isn't granted the secret {name:?} (grants.secrets)");
            Error::new("NotGranted", message)
        }
        SecretError::NotFound => Error::new("NotFound", format!("the node doesn't have the secret {name:?}")),
    })
}

/// The node that the plugin runs on.
pub(crate) mod here {
    use super::NODE;
    use super::node::NodeView;

    /// The label that says in which zone a node is.
    const ZONE: &str = "topology.kubernetes.io/zone";

    fn of<T: Default>(getter: impl FnOnce(&NodeView) -> T) -> T {
        NODE.with_borrow(|node| node.as_ref().map(getter)).unwrap_or_default()
    }

    pub(crate) fn name() -> Option<String> {
        of(|node| Some(node.name()))
    }

    pub(crate) fn label(key: &str) -> Option<String> {
        of(|node| node.label(key))
    }

    pub(crate) fn labels() -> Vec<(String, String)> {
        of(NodeView::labels)
    }

    pub(crate) fn zone() -> Option<String> {
        label(ZONE)
    }

    pub(crate) fn addresses() -> Vec<String> {
        of(NodeView::addresses)
    }

    pub(crate) fn allocatable(resource: &str) -> Option<i64> {
        of(|node| node.allocatable(resource))
    }
}

#[cfg(test)]
mod tests;

//! What a manifest claims of its pod before the pod is made this node's.

use k8s_openapi::api::core::v1::Pod;

use crate::pod::static_pod::{CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE};

/// What a pod said of itself before it became this node's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) name: String,
    /// As it was written.
    pub(super) uid: Option<String>,
    pub(super) node_name: Option<String>,
    pub(super) source: Option<String>,
    pub(super) forged: Vec<&'static str>,
}

impl Claims {
    /// Reads the claims of a pod as it was written.
    pub(super) fn of(written: &Pod) -> Self {
        let annotations = written.metadata.annotations.as_ref();
        let annotation = |name: &str| annotations.and_then(|all| all.get(name));
        let node_name = written.spec.as_ref().and_then(|spec| spec.node_name.clone());
        Self {
            name: written.metadata.name.clone().unwrap_or_default(),
            uid: written.metadata.uid.clone().filter(|uid| !uid.is_empty()),
            node_name: node_name.filter(|name| !name.is_empty()),
            source: annotation(CONFIG_SOURCE).cloned(),
            forged: [CONFIG_MIRROR, CONFIG_HASH]
                .into_iter()
                .filter(|name| annotation(name).is_some())
                .collect(),
        }
    }
}

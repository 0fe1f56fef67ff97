//! What the agent knows of its node beyond what the machine says of itself: how much is in use, and which handler of the container
//! runtime each runtime class means.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::pod::resources::Amounts;

#[cfg(test)]
mod tests;

/// What the agent knows of the node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedNode {
    /// What the whole machine uses: `cpu` in milli-CPU, `memory` (the working set) and `ephemeral-storage` (the file system of the agent's
    /// folder) in bytes, `pid`. What isn't known is missing.
    pub used: Arc<Amounts>,
    /// Handlers of the container runtime by the names of runtime classes.
    pub runtime_classes: Arc<BTreeMap<String, String>>,
}

impl ObservedNode {
    /// The handler of the container runtime that runs this pod: empty for the runtime's default one, none for a class that isn't known.
    pub fn runtime_handler(&self, pod: &Pod) -> Option<&str> {
        match pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref()).unwrap_or_default() {
            "" => Some(""),
            class => self.runtime_classes.get(class).map(String::as_str),
        }
    }
}

/// Runtime classes with their handlers: those of the cluster, and those of the node's own configuration that the cluster lacks.
pub fn runtime_classes(
    own: &Arc<BTreeMap<String, String>>,
    of_cluster: Option<Arc<BTreeMap<String, String>>>,
) -> Arc<BTreeMap<String, String>> {
    match of_cluster {
        Some(classes) if own.is_empty() => classes,
        Some(classes) => {
            let all = own.iter().chain(classes.iter());
            Arc::new(all.map(|(name, handler)| (name.clone(), handler.clone())).collect())
        }
        None => own.clone(),
    }
}

//! The node as admission and pods see it in a cluster: the machine's facts below what others wrote on the node's object.

use k8s_openapi::api::core::v1::Node;

use super::NodeFacts;
use super::registration::is_extended;

#[cfg(test)]
mod tests;

/// Facts with the labels, annotations, taints and further spec of the API server's object, and with the extended resources
/// that it has. What the machine says of itself stays: it is newer. An object of another name changes nothing.
pub fn overlay(facts: &NodeFacts, object: &Node) -> NodeFacts {
    if object.metadata.name.as_deref() != Some(facts.name.as_str()) {
        return facts.clone();
    }
    let mut all = facts.clone();
    let metadata = &mut all.node.metadata;
    metadata.labels = object.metadata.labels.clone();
    metadata.annotations = object.metadata.annotations.clone();
    metadata.uid = object.metadata.uid.clone();
    metadata.creation_timestamp = object.metadata.creation_timestamp.clone();
    metadata.deletion_timestamp = object.metadata.deletion_timestamp.clone();
    all.node.spec = object.spec.clone();
    let reported = object.status.as_ref();
    let status = all.node.status.get_or_insert_default();
    for (own, reported) in [
        (&mut status.capacity, reported.and_then(|status| status.capacity.as_ref())),
        (&mut status.allocatable, reported.and_then(|status| status.allocatable.as_ref())),
    ] {
        for (name, amount) in reported.into_iter().flatten().filter(|(name, _)| is_extended(name)) {
            own.get_or_insert_default().entry(name.clone()).or_insert_with(|| amount.clone());
        }
    }
    all
}

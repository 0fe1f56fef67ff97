//! What an edit of a pod asks of its containers' resources, as monitoring counts it (upstream: `recordContainerResizeOperations`).

use k8s_openapi::api::core::v1::Pod;

use super::{RESIZABLE, Share};
use crate::container::plan::containers;

#[cfg(test)]
mod tests;

/// One figure of a container that an edit changes, in the words of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedResize {
    /// `cpu` or `memory`.
    pub resource: &'static str,
    /// `requests` or `limits`.
    pub requirement: &'static str,
    /// `add`, `remove`, `increase` or `decrease`.
    pub operation: &'static str,
}

/// Returns what the newer spec asks for that the older one didn't, of containers that both have and that can be resized.
pub fn requested_resizes(old: &Pod, new: &Pod) -> Vec<RequestedResize> {
    let mut all = Vec::new();
    let newer: Vec<_> = containers(new).collect();
    for before in containers(old).filter(|found| found.kind.is_resizable()) {
        let same =
            newer.iter().find(|now| now.container.name == before.container.name && now.kind == before.kind);
        let Some(now) = same else { continue };
        let (before, now) = (&before.container.resources, &now.container.resources);
        let (before, now) = (Share::of(before.as_ref()).amounts(), Share::of(now.as_ref()).amounts());
        for resource in RESIZABLE {
            for (requirement, before, now) in [("requests", &before.0, &now.0), ("limits", &before.1, &now.1)]
            {
                let amount = |of: &super::resources::Amounts| of.get(resource).copied().unwrap_or_default();
                let operation = operation(amount(before), amount(now));
                all.extend(operation.map(|operation| RequestedResize { resource, requirement, operation }));
            }
        }
    }
    all
}

fn operation(before: i64, now: i64) -> Option<&'static str> {
    match (before, now) {
        (before, now) if before == now => None,
        (0, _) => Some("add"),
        (_, 0) => Some("remove"),
        (before, now) if now > before => Some("increase"),
        _ => Some("decrease"),
    }
}

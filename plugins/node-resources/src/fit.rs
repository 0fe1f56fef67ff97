//! Whether requests fit.

use witlet_plugin_sdk::{Quantity, Shortage, amount_of};

/// Upstream checks these first, in this order; the rest follows by name.
const FIRST: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// What the node lacks for a pod with these requests: pods first, then cpu, memory, ephemeral storage and the rest
/// by name. A resource that the pod asks nothing of never lacks. An extended resource that the node doesn't have at
/// all is left out, as the kubelet does it: some are the scheduler's alone to account for.
pub(crate) fn shortages(requests: &[Quantity], used: &[Quantity], allocatable: &[Quantity]) -> Vec<Shortage> {
    let mut asked: Vec<&Quantity> = requests
        .iter()
        .filter(|request| request.amount > 0)
        .filter(|request| !is_extended(&request.resource) || has(allocatable, &request.resource))
        .collect();
    asked.sort_by_key(|request| (rank(&request.resource), &request.resource));
    std::iter::once(("pods", 1))
        .chain(asked.into_iter().map(|request| (request.resource.as_str(), request.amount)))
        .filter_map(|(resource, requested)| {
            let (used, capacity) = (amount_of(used, resource), amount_of(allocatable, resource));
            let lacks = requested > capacity.saturating_sub(used);
            lacks.then(|| Shortage { resource: resource.to_owned(), requested, used, capacity })
        })
        .collect()
}

/// Why a resize can never be done here: it asks for more than the empty node has. Upstream checks cpu and memory,
/// the resources that can be resized, in its words.
pub(crate) fn infeasible(requests: &[Quantity], allocatable: &[Quantity]) -> Option<String> {
    ["cpu", "memory"].into_iter().find_map(|resource| {
        let (requested, capacity) = (amount_of(requests, resource), amount_of(allocatable, resource));
        (requested > capacity).then(|| {
            format!(
                "Node didn't have enough capacity: {resource}, requested: {requested}, capacity: {capacity}"
            )
        })
    })
}

fn rank(resource: &str) -> usize {
    FIRST.iter().position(|first| *first == resource).unwrap_or(FIRST.len())
}

fn has(quantities: &[Quantity], resource: &str) -> bool {
    quantities.iter().any(|quantity| quantity.resource == resource)
}

/// Extended resources have a domain other than Kubernetes' own (API documentation, "Extended resources").
fn is_extended(resource: &str) -> bool {
    resource.contains('/') && !resource.contains("kubernetes.io/") && !resource.starts_with("requests.")
}

#[cfg(test)]
mod tests;

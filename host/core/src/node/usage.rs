//! How much of the node there is, who it is for, and how much of it is used: a row for each resource.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};

use super::allocatable::{PIDS, Reservations, amounts};
use super::readings::{Left, NodeReadings};
use crate::pod::resources::{self, Amounts, CPU, EPHEMERAL_STORAGE, MEMORY};
use crate::status::Phase;

#[cfg(test)]
mod tests;

/// Name of the number of pods among resources.
const PODS: &str = "pods";
/// Shown first, in this order; the others follow by name.
const FIRST: [&str; 5] = [CPU, MEMORY, EPHEMERAL_STORAGE, PIDS, PODS];

/// One resource. `cpu` in thousandths, all else in base units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceUse {
    pub resource: String,
    pub capacity: i64,
    /// Kept for the system (`systemReserved`).
    pub system_reserved: i64,
    /// Kept for Kubernetes' daemons (`kubeReserved`).
    pub kube_reserved: i64,
    /// Kept free, because pods are evicted below it (`evictionHard`).
    pub eviction: i64,
    /// What pods may request together.
    pub allocatable: i64,
    /// What the pods that haven't ended request together.
    pub requested: i64,
    /// What the whole machine uses; none if it wasn't measured.
    pub used: Option<i64>,
}

/// The rows of a node. `cpu` is what it uses of its processors, in thousandths.
pub fn resource_use(
    node: &Node,
    reservations: &Reservations,
    pods: &[Arc<Pod>],
    readings: &NodeReadings,
    cpu: Option<i64>,
) -> Vec<ResourceUse> {
    let status = node.status.clone().unwrap_or_default();
    let mut capacity = amounts(&status.capacity.unwrap_or_default());
    let mut allocatable = amounts(&status.allocatable.unwrap_or_default());
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    if let Some(pids) = readings.pids {
        // Not in the node's status, as upstream.
        capacity.insert(PIDS.to_owned(), signed(pids.capacity));
        let own = [(PIDS.to_owned(), signed(pids.capacity))].into();
        allocatable.extend(reservations.enforced(&own));
    }
    let used = |left: Option<Left>| left.map(|left| signed(left.capacity.saturating_sub(left.available)));
    let requested = requested(pods);
    let of = |amounts: &Amounts, name: &str| amounts.get(name).copied().unwrap_or_default();
    let row = |name: &str| ResourceUse {
        resource: name.to_owned(),
        capacity: of(&capacity, name),
        system_reserved: of(&reservations.system, name),
        kube_reserved: of(&reservations.kube, name),
        eviction: reservations.eviction_of(name, of(&capacity, name)),
        allocatable: of(&allocatable, name),
        requested: of(&requested, name),
        used: match name {
            CPU => cpu,
            MEMORY => used(readings.memory),
            EPHEMERAL_STORAGE => used(readings.nodefs_bytes),
            PIDS => used(readings.pids),
            _ => None,
        },
    };
    let names: BTreeSet<&str> = capacity.keys().map(String::as_str).collect();
    let first = FIRST.into_iter().filter(|name| names.contains(name));
    let others = names.iter().copied().filter(|name| !FIRST.contains(name));
    first.chain(others).map(row).collect()
}

/// Returns what pods that haven't ended request together, and how many they are.
fn requested(pods: &[Arc<Pod>]) -> Amounts {
    let mut total = Amounts::new();
    let has_ended = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(Phase::of);
        phase.is_some_and(Phase::is_terminal)
    };
    for pod in pods.iter().filter(|pod| !has_ended(pod)) {
        let one = [(PODS.to_owned(), 1)];
        for (name, amount) in resources::requests(pod).into_iter().chain(one) {
            let sum = total.entry(name).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
    total
}

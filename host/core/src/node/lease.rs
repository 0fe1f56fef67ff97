//! The node's lease in `kube-node-lease`, by which the control plane knows that the node lives (upstream:
//! `component-helpers/apimachinery/lease`).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};

use crate::container::backoff::BackoffPolicy;

#[cfg(test)]
mod tests;

/// Namespace of the leases of nodes.
pub const NAMESPACE: &str = "kube-node-lease";
/// A lease lasts this long unless the operator says otherwise, in seconds (upstream: `nodeLeaseDurationSeconds`).
pub const DURATION_SECONDS: u32 = 40;
/// Tries to renew it at once before it is checked again (upstream: `maxUpdateRetries`).
pub const RENEWALS_MAX: u32 = 5;
/// How long to wait before the lease is looked for or made again.
pub const ENSURE: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(7) };
/// A lease is renewed this part of its life later than it would be, at most, so that nodes spread.
const JITTER: f64 = 0.04;

/// How long after a renewal the next one comes: a quarter of its life, and a bit more by `chance` in `[0, 1)`.
pub fn renew_after(duration_seconds: u32, chance: f64) -> Duration {
    Duration::from_secs(u64::from(duration_seconds)).mul_f64(0.25 * (1.0 + JITTER * chance.clamp(0.0, 1.0)))
}

/// A new lease for the node. It belongs to the node's object, so that it goes with it: none is made before the object is
/// known.
pub fn fresh(node_name: &str, node: &Node, duration_seconds: u32, now: Timestamp) -> Option<Lease> {
    Some(Lease {
        metadata: ObjectMeta {
            name: Some(node_name.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            owner_references: Some(vec![owner(node_name, node)?]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(node_name.to_owned()),
            lease_duration_seconds: Some(seconds(duration_seconds)),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    })
}

/// The lease, renewed. An owner that it lacks is added once the node's object is known.
pub fn renewed(
    lease: &Lease,
    node_name: &str,
    node: Option<&Node>,
    duration_seconds: u32,
    now: Timestamp,
) -> Lease {
    let mut lease = lease.clone();
    let owners = lease.metadata.owner_references.take().filter(|owners| !owners.is_empty());
    lease.metadata.owner_references =
        owners.or_else(|| node.and_then(|node| owner(node_name, node)).map(|owner| vec![owner]));
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(node_name.to_owned());
    spec.lease_duration_seconds = Some(seconds(duration_seconds));
    spec.renew_time = Some(MicroTime(now));
    lease
}

fn owner(node_name: &str, node: &Node) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node_name.to_owned(),
        uid: node.metadata.uid.clone()?,
        ..OwnerReference::default()
    })
}

fn seconds(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

//! The node's object when it is registered, and when it was there already (upstream: `initialNode` and
//! `tryRegisterWithAPIServer` in `kubelet_node_status.go`).

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeSpec, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::status::{self, NodeNews, NodeSnapshot, is_huge_page, is_same};
use crate::container::backoff::BackoffPolicy;

#[cfg(test)]
mod tests;

/// How long to wait before registration is tried again.
pub const RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(7) };

/// Says that a controller attaches volumes to the node.
pub const CONTROLLER_MANAGED_ATTACH: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
/// Reports a cloud's controller which addresses the operator chose.
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const NO_SCHEDULE: &str = "NoSchedule";
const OS: &str = "kubernetes.io/os";
const ARCH: &str = "kubernetes.io/arch";
const BETA_OS: &str = "beta.kubernetes.io/os";
const BETA_ARCH: &str = "beta.kubernetes.io/arch";

/// Labels that the agent keeps right where it set them; all others are left to anyone who changed them.
const DEFAULT_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS,
    ARCH,
    BETA_OS,
    BETA_ARCH,
];

/// What the operator says of the node's object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registration {
    /// Taints that it is registered with.
    pub taints: Vec<Taint>,
    /// Registered so that nothing is scheduled to it (`--register-schedulable=false`).
    pub unschedulable: bool,
    /// Its name at a cloud.
    pub provider_id: Option<String>,
    /// A cloud's controller will finish it (`--cloud-provider=external`).
    pub external_cloud: bool,
    /// Addresses that the operator chose (`--node-ip`), as text.
    pub node_ips: Vec<String>,
}

/// The object to register, and what is to be reported of it. Labels are the machine's own.
pub fn initial(seen: &NodeSnapshot, options: &Registration) -> (Node, Vec<NodeNews>) {
    let machine = &seen.machine.metadata;
    let mut labels = machine.labels.clone().unwrap_or_default();
    for (old, new) in [(BETA_OS, OS), (BETA_ARCH, ARCH)] {
        if let Some(value) = labels.get(new).cloned() {
            labels.entry(old.to_owned()).or_insert(value);
        }
    }
    let mut taints = options.taints.clone();
    let taint = |key: &str, value: Option<&str>| Taint {
        key: key.to_owned(),
        value: value.map(str::to_owned),
        effect: NO_SCHEDULE.to_owned(),
        time_added: None,
    };
    let is_there = |taints: &[Taint], key| taints.iter().any(|t| t.key == key && t.effect == NO_SCHEDULE);
    if options.unschedulable && !is_there(&taints, UNSCHEDULABLE) {
        taints.push(taint(UNSCHEDULABLE, None));
    }
    if options.external_cloud {
        taints.push(taint(UNINITIALIZED, Some("true")));
    }
    let mut node = Node {
        metadata: ObjectMeta {
            name: machine.name.clone(),
            labels: Some(labels),
            annotations: Some(
                [(CONTROLLER_MANAGED_ATTACH.to_owned(), "true".to_owned())].into_iter().collect(),
            ),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            taints: (!taints.is_empty()).then_some(taints),
            unschedulable: options.unschedulable.then_some(true),
            provider_id: options.provider_id.clone(),
            ..NodeSpec::default()
        }),
        status: None,
    };
    set_provided_ip(&mut node, options);
    status::with_status(&node, seen)
}

/// The annotation with the operator's addresses, where a cloud's controller needs to know; else it goes.
fn set_provided_ip(node: &mut Node, options: &Registration) {
    let desired =
        (options.external_cloud && !options.node_ips.is_empty()).then(|| options.node_ips.join(","));
    match (desired, &mut node.metadata.annotations) {
        (Some(ips), annotations) => {
            annotations.get_or_insert_default().insert(PROVIDED_NODE_IP.to_owned(), ips);
        }
        (None, Some(annotations)) => {
            annotations.remove(PROVIDED_NODE_IP);
        }
        (None, None) => {}
    }
}

/// The object that was there already, as it should be: the agent's own annotation and labels, no extended resources (no
/// device plugin has reported any yet), huge pages as they are. Everything else stays.
pub fn reconciled(existing: &Node, initial: &Node) -> Node {
    let mut node = existing.clone();
    let annotation = initial.metadata.annotations.as_ref().and_then(|a| a.get(CONTROLLER_MANAGED_ATTACH));
    if let Some(value) = annotation {
        let annotations = node.metadata.annotations.get_or_insert_default();
        annotations.insert(CONTROLLER_MANAGED_ATTACH.to_owned(), value.clone());
    }
    let desired = initial.metadata.labels.iter().flatten();
    for (key, value) in desired.filter(|(key, _)| DEFAULT_LABELS.contains(&key.as_str())) {
        node.metadata.labels.get_or_insert_default().insert(key.clone(), value.clone());
    }
    let (status, first) = (node.status.get_or_insert_default(), initial.status.as_ref());
    let capacity = status.capacity.get_or_insert_default();
    let allocatable = status.allocatable.get_or_insert_default();
    for (reported, desired) in [
        (&mut *capacity, first.and_then(|status| status.capacity.as_ref())),
        (&mut *allocatable, first.and_then(|status| status.allocatable.as_ref())),
    ] {
        if reported.is_empty() {
            *reported = desired.cloned().unwrap_or_default();
        }
        reported.retain(|name, _| {
            !is_huge_page(name) || desired.is_some_and(|desired| desired.contains_key(name))
        });
        for (name, amount) in desired.into_iter().flatten().filter(|(name, _)| is_huge_page(name)) {
            if !reported.get(name).is_some_and(|known| is_same(known, amount)) {
                reported.insert(name.clone(), amount.clone());
            }
        }
    }
    let extended: Vec<String> = capacity.keys().filter(|name| is_extended(name)).cloned().collect();
    for name in extended {
        let zero = Quantity("0".to_owned());
        for reported in [&mut *capacity, &mut *allocatable] {
            if !reported.get(&name).is_some_and(|known| is_same(known, &zero)) {
                reported.insert(name.clone(), zero.clone());
            }
        }
    }
    node
}

/// The node that the API server has as it is to be now: its status, the labels that are the agent's, and the annotation for
/// clouds; and what is to be reported of that (upstream: `updateNode`).
pub fn current(existing: &Node, seen: &NodeSnapshot, options: &Registration) -> (Node, Vec<NodeNews>) {
    let (mut node, news) = status::with_status(existing, seen);
    let own = seen.machine.metadata.labels.as_ref();
    for key in [OS, ARCH] {
        if let Some(value) = own.and_then(|labels| labels.get(key)) {
            node.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.clone());
        }
    }
    set_provided_ip(&mut node, options);
    (node, news)
}

/// Whether a resource is neither Kubernetes' own nor a quota's (upstream: `IsExtendedResourceName`).
pub fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.")
}

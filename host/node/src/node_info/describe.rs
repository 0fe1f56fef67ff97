//! What is said of the node, made of what the machine and others say.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeFeatures, NodeSpec, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use witlet_core::node::NodeFacts;
use witlet_core::node::facts::{self, steady};
use witlet_core::pod::validation::is_dns_subdomain;

use super::machine::{Machine, Storage};
use super::{Given, NodeError, NodeOptions, Sources};

/// Features that this agent has, by their names in the registry (KEP-5328).
const DECLARED_FEATURES: [&str; 1] = ["RestartAllContainersOnContainerExits"];

/// Declared where the runtime makes user namespaces for pods on the host's network.
const USER_NAMESPACES_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

/// The system, as Go names it.
const LINUX: &str = "linux";

/// The node as the API server would have it, by upstream's setters (`nodestatus/setters.go`). `known` is what was said last.
pub(super) fn describe(
    sources: &Sources,
    options: &NodeOptions,
    created: Timestamp,
    known: &NodeFacts,
) -> Result<NodeFacts, NodeError> {
    let Sources { machine, given } = sources;
    let name = options.name.as_deref().unwrap_or(&machine.hostname).trim().to_lowercase();
    if !is_dns_subdomain(&name) {
        return Err(NodeError::Name { name });
    }
    let facts = all_facts(machine, given, &known.facts);
    let own_labels = [
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", LINUX),
        ("kubernetes.io/arch", machine.architecture),
    ];
    let mut labels: BTreeMap<String, String> =
        own_labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    labels.extend(options.labels.clone());
    let node = Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels),
            creation_timestamp: Some(Time(created)),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec::default()),
        status: Some(status(machine, options, &name, &facts)),
    };
    Ok(NodeFacts { name, node, addresses: machine.addresses.clone(), facts, devices: String::new() })
}

fn status(
    machine: &Machine,
    options: &NodeOptions,
    name: &str,
    facts: &BTreeMap<String, String>,
) -> NodeStatus {
    let capacity: BTreeMap<String, Quantity> = [
        ("cpu", machine.cpus.to_string()),
        ("memory", format!("{}Ki", machine.memory_kib)),
        ("ephemeral-storage", format!("{}Ki", machine.storage.bytes / 1024)),
        ("pods", options.max_pods.to_string()),
    ]
    .into_iter()
    .map(|(resource, amount)| (resource.to_owned(), Quantity(amount)))
    .collect();
    let address = |kind: &str, address: String| NodeAddress { type_: kind.to_owned(), address };
    let mut addresses: Vec<NodeAddress> =
        machine.addresses.iter().map(|ip| address("InternalIP", ip.to_string())).collect();
    addresses.push(address("Hostname", name.to_owned()));
    let is_true = |key: &str| facts.get(key).map(|value| value == "true");
    let mut declared: Vec<String> = DECLARED_FEATURES.map(str::to_owned).into();
    if is_true(facts::RUNTIME_USER_NAMESPACES_HOST_NETWORK) == Some(true) {
        declared.push(USER_NAMESPACES_HOST_NETWORK.to_owned());
    }
    NodeStatus {
        addresses: Some(addresses),
        allocatable: Some(capacity.clone()),
        capacity: Some(capacity),
        declared_features: Some(declared),
        features: is_true(facts::RUNTIME_SUPPLEMENTAL_GROUPS_POLICY)
            .map(|supported| NodeFeatures { supplemental_groups_policy: Some(supported) }),
        node_info: Some(system_info(machine, facts)),
        ..NodeStatus::default()
    }
}

/// What the machine says goes before what was given.
fn all_facts(machine: &Machine, given: &Given, known: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = given
        .iter()
        .flat_map(|(prefix, facts)| {
            facts.iter().map(move |(key, value)| (format!("{prefix}.{key}"), value.clone()))
        })
        .collect();
    let own = [
        (facts::OS, LINUX.to_owned()),
        (facts::OS_IMAGE, machine.os_image.clone()),
        (facts::ARCH, machine.architecture.to_owned()),
        (facts::KERNEL_VERSION, machine.kernel.clone()),
        (facts::CGROUP_VERSION, machine.cgroup_version.to_owned()),
        (facts::APPARMOR_ENABLED, machine.has_apparmor.to_string()),
        (facts::SWAP, machine.swap_bytes.to_string()),
    ];
    all.extend(own.map(|(key, value)| (key.to_owned(), value)));
    let Storage { bytes, bytes_available, inodes, inodes_free } = machine.storage;
    let figures = [
        (facts::NODEFS_CAPACITY, bytes, facts::NODEFS_AVAILABLE, bytes_available),
        (facts::NODEFS_INODES, inodes, facts::NODEFS_INODES_FREE, inodes_free),
    ];
    for (whole_key, whole, free_key, free) in figures.into_iter().filter(|(_, whole, ..)| *whole > 0) {
        let said = known.get(free_key).and_then(|said| said.parse().ok());
        all.insert(whole_key.to_owned(), whole.to_string());
        all.insert(free_key.to_owned(), steady(said, free, whole).to_string());
    }
    all
}

fn system_info(machine: &Machine, facts: &BTreeMap<String, String>) -> NodeSystemInfo {
    let runtime = facts.get(facts::RUNTIME_NAME).zip(facts.get(facts::RUNTIME_VERSION));
    NodeSystemInfo {
        architecture: machine.architecture.to_owned(),
        boot_id: machine.boot_id.clone(),
        container_runtime_version: runtime
            .map(|(name, version)| format!("{name}://{version}"))
            .unwrap_or_default(),
        kernel_version: machine.kernel.clone(),
        kubelet_version: format!("witlet-{}", env!("CARGO_PKG_VERSION")),
        machine_id: machine.machine_id.clone(),
        operating_system: LINUX.to_owned(),
        os_image: machine.os_image.clone(),
        ..NodeSystemInfo::default()
    }
}

//! What is said of the node, made of what the machine and others say.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Node, NodeAddress, NodeFeatures, NodeSpec, NodeStatus, NodeSwapStatus, NodeSystemInfo,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use witlet_core::node::allocatable::{amounts, quantity};
use witlet_core::node::facts::{self, steady};
use witlet_core::node::status::allocatable;
use witlet_core::node::{NodeFacts, kubelet_version};
use witlet_core::pod::validation::is_dns_subdomain;

use super::error::NodeError;
use super::machine::{Machine, Storage};
use super::options::NodeOptions;

/// Features that this agent has, by their names in the registry (KEP-5328).
const DECLARED_FEATURES: [&str; 2] =
    ["InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"];

/// Declared where the runtime makes user namespaces for pods on the host's network.
const USER_NAMESPACES_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

/// The system, as Go names it.
const LINUX: &str = "linux";

/// What the facts are made of.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) machine: Machine,
    pub(super) given: GivenFacts,
}

/// Facts from elsewhere, by the prefix of their keys.
pub(super) type GivenFacts = BTreeMap<String, BTreeMap<String, String>>;

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
    let addresses = addresses(&options.node_ips, &name, &machine.addresses)?;
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
        status: Some(status(machine, options, &name, &addresses, &facts)),
    };
    Ok(NodeFacts { name, node, addresses, facts, ..NodeFacts::default() })
}

/// The node's addresses: those that the operator gave, else a name that is an address, else the one that the machine reaches
/// the world from. Upstream looks up the name before that.
fn addresses(given: &[IpAddr], name: &str, machine: &[IpAddr]) -> Result<Vec<IpAddr>, NodeError> {
    let chosen: Vec<IpAddr> = given.iter().copied().filter(|address| !address.is_unspecified()).collect();
    for address in &chosen {
        let reason = match address {
            address if address.is_loopback() => Some("it is a loopback address"),
            address if address.is_multicast() => Some("it is a multicast address"),
            IpAddr::V4(v4) if v4.is_link_local() => Some("it is a link-local address"),
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Some("it is a link-local address"),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(NodeError::Address { address: *address, reason });
        }
    }
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    if let Ok(address) = name.parse() {
        return Ok(vec![address]);
    }
    let prefers_v6 = given.first().is_some_and(IpAddr::is_ipv6);
    let preferred = machine.iter().find(|address| address.is_ipv6() == prefers_v6);
    Ok(preferred.or(machine.first()).copied().into_iter().collect())
}

/// What there is of everything that pods can ask for.
fn capacity(machine: &Machine, options: &NodeOptions) -> BTreeMap<String, Quantity> {
    let pods = match options.pods_per_core {
        0 => options.max_pods,
        per_core => machine.cpus.saturating_mul(per_core).min(options.max_pods),
    };
    let own = [
        ("cpu".to_owned(), machine.cpus.to_string()),
        ("memory".to_owned(), format!("{}Ki", machine.memory_kib)),
        ("pods".to_owned(), pods.to_string()),
    ];
    let storage = options
        .offers_local_storage
        .then(|| ("ephemeral-storage".to_owned(), format!("{}Ki", machine.storage.bytes / 1024)));
    let huge = machine.huge_pages.iter().map(|(kib, bytes)| {
        let size = match kib {
            kib if kib % (1 << 20) == 0 => format!("{}Gi", kib >> 20),
            kib if kib % 1024 == 0 => format!("{}Mi", kib >> 10),
            kib => format!("{kib}Ki"),
        };
        let amount = if *bytes == 0 { "0".to_owned() } else { format!("{}Ki", bytes / 1024) };
        (format!("hugepages-{size}"), amount)
    });
    own.into_iter()
        .chain(storage)
        .chain(huge)
        .map(|(resource, amount)| (resource, Quantity(amount)))
        .collect()
}

/// What the status takes off, in the API's words.
fn reserved(capacity: &BTreeMap<String, Quantity>, options: &NodeOptions) -> BTreeMap<String, Quantity> {
    let reserved = options.reserved.reported(&amounts(capacity)).into_iter();
    reserved.map(|(name, amount)| (name.clone(), quantity(&name, amount))).collect()
}

fn status(
    machine: &Machine,
    options: &NodeOptions,
    name: &str,
    addresses: &[IpAddr],
    facts: &BTreeMap<String, String>,
) -> NodeStatus {
    let capacity = capacity(machine, options);
    let address = |kind: &str, address: String| NodeAddress { type_: kind.to_owned(), address };
    let own = addresses.iter().map(|ip| address("InternalIP", ip.to_string()));
    let addresses: Vec<NodeAddress> = own.chain([address("Hostname", name.to_owned())]).collect();
    let is_true = |key: &str| facts.get(key).map(|value| value == "true");
    let mut declared: Vec<String> = DECLARED_FEATURES.map(str::to_owned).into();
    if is_true(facts::RUNTIME_USER_NAMESPACES_HOST_NETWORK) == Some(true) {
        declared.push(USER_NAMESPACES_HOST_NETWORK.to_owned());
    }
    NodeStatus {
        addresses: Some(addresses),
        allocatable: Some(allocatable(&capacity, &reserved(&capacity, options))),
        capacity: Some(capacity),
        declared_features: Some(declared),
        features: is_true(facts::RUNTIME_SUPPLEMENTAL_GROUPS_POLICY)
            .map(|supported| NodeFeatures { supplemental_groups_policy: Some(supported) }),
        node_info: Some(system_info(machine, facts)),
        ..NodeStatus::default()
    }
}

/// What the machine says goes before what was given.
fn all_facts(
    machine: &Machine,
    given: &GivenFacts,
    known: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
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
        kubelet_version: kubelet_version(env!("CARGO_PKG_VERSION")),
        machine_id: machine.machine_id.clone(),
        operating_system: LINUX.to_owned(),
        os_image: machine.os_image.clone(),
        swap: (machine.swap_bytes > 0)
            .then(|| NodeSwapStatus { capacity: i64::try_from(machine.swap_bytes).ok() }),
        system_uuid: machine.system_uuid.clone(),
        ..NodeSystemInfo::default()
    }
}

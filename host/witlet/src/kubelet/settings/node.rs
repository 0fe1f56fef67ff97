//! The node itself: its name, labels, addresses, how much of it pods get, and what counts as a shortage.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use witlet_core::node::allocatable::{PIDS, Reservations, cpu_set};
use witlet_core::node::conditions::Thresholds;
use witlet_core::pod::resources::{self, Amounts, CPU, EPHEMERAL_STORAGE, MEMORY};
use witlet_node::PODS_MAX_DEFAULT;

use super::{SettingsError, count, wrong};
use crate::kubelet::flags::Flags;
use crate::kubelet::flags::table::Own;
use crate::kubelet::wanted::Wanted;
use crate::settings::NodeSettings;

/// Node-labels that upstream's flag takes in Kubernetes' own namespaces, beside those below the prefixes.
const OWN_LABELS: &[&str] = &[
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
const LABEL_PREFIXES: &[&str] = &["kubelet.kubernetes.io", "node.kubernetes.io"];

/// Who the node is.
pub(super) fn node(flags: &Flags, wanted: &Wanted) -> Result<NodeSettings, SettingsError> {
    let labels = flags.pairs(Own::NodeLabels);
    for label in labels.keys() {
        if !may_be_set(label) {
            let why = "labels of kubernetes.io and k8s.io must begin with kubelet.kubernetes.io or node.kubernetes.io, or be one \
                       of the well-known ones";
            return Err(wrong("--node-labels", label, why));
        }
    }
    let max_pods: u32 = count("maxPods", wanted.max_pods.unwrap_or(PODS_MAX_DEFAULT.into()))?;
    Ok(NodeSettings {
        name: flags.text(Own::HostnameOverride).map(str::to_lowercase),
        labels,
        max_pods,
        pods_per_core: count("podsPerCore", wanted.pods_per_core.unwrap_or(0))?,
        reserved: reserved(wanted)?,
        ips: node_ips(flags.text(Own::NodeIp).unwrap_or_default())?,
    })
}

/// Whether upstream lets the operator choose this label.
pub(super) fn may_be_set(label: &str) -> bool {
    let Some((namespace, _)) = label.split_once('/') else { return true };
    let below =
        |of: &str| namespace == of || namespace.strip_suffix(of).is_some_and(|rest| rest.ends_with('.'));
    if !below("kubernetes.io") && !below("k8s.io") {
        return true;
    }
    OWN_LABELS.contains(&label) || LABEL_PREFIXES.iter().any(|prefix| below(prefix))
}

/// `--node-ip`: one address, or one of each family.
fn node_ips(text: &str) -> Result<Vec<IpAddr>, SettingsError> {
    let refused = |why: &str| wrong("--node-ip", text, why);
    let mut ips: Vec<IpAddr> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let ip: IpAddr = part.parse().map_err(|_| refused("it is no IP address"))?;
        if ips.iter().any(|other| other.is_ipv4() == ip.is_ipv4()) {
            return Err(refused("two addresses must be of different families"));
        }
        ips.push(ip);
    }
    if ips.len() > 1 && ips.iter().any(IpAddr::is_unspecified) {
        return Err(refused("an unspecified address can't be one of two"));
    }
    Ok(ips)
}

/// What is told as a shortage.
pub(super) fn thresholds(wanted: &Wanted) -> Result<Thresholds, SettingsError> {
    let Some(hard) = &wanted.eviction_hard else {
        return Ok(Thresholds::default());
    };
    let all = Thresholds::parse(hard).map_err(|cause| wrong("evictionHard", json!(hard), cause))?;
    if !wanted.merge_default_eviction_settings {
        return Ok(all);
    }
    let default = Thresholds::default();
    let is_set = |signal: &str| hard.contains_key(signal);
    let or = |signal, own, default| if is_set(signal) { own } else { default };
    Ok(Thresholds {
        memory: or("memory.available", all.memory, default.memory),
        nodefs_bytes: or("nodefs.available", all.nodefs_bytes, default.nodefs_bytes),
        nodefs_inodes: or("nodefs.inodesFree", all.nodefs_inodes, default.nodefs_inodes),
        imagefs_bytes: or("imagefs.available", all.imagefs_bytes, default.imagefs_bytes),
        imagefs_inodes: or("imagefs.inodesFree", all.imagefs_inodes, default.imagefs_inodes),
        pids: or("pid.available", all.pids, default.pids),
    })
}

/// What pods may not have: what is reserved for the system and for Kubernetes, and what they would be evicted at. CPUs that are
/// reserved by number take the place of both amounts of CPU.
pub(super) fn reserved(wanted: &Wanted) -> Result<Reservations, SettingsError> {
    let mut system = amounts("systemReserved", &wanted.system_reserved)?;
    let mut kube = amounts("kubeReserved", &wanted.kube_reserved)?;
    if let Some(list) = &wanted.reserved_system_cpus {
        let cpus = cpu_set(list).ok_or_else(|| SettingsError::Invalid {
            problems: vec![format!("unable to parse reservedSystemCPUs (--reserved-cpus) {list}")],
        })?;
        if !cpus.is_empty() {
            kube.remove(CPU);
            let milli = i64::try_from(cpus.len()).unwrap_or(i64::MAX).saturating_mul(1000);
            system.insert(CPU.to_owned(), milli);
        }
    }
    Ok(Reservations { system, kube, hard_eviction: thresholds(wanted)? })
}

fn amounts(field: &'static str, given: &BTreeMap<String, String>) -> Result<Amounts, SettingsError> {
    let mut amounts = Amounts::new();
    for (resource, amount) in given {
        let refused = |why| wrong(field, format!("{resource}={amount}"), why);
        if !matches!(resource.as_str(), CPU | MEMORY | EPHEMERAL_STORAGE | PIDS) {
            return Err(refused("cannot reserve this resource"));
        }
        let read = resources::amount(resource, &Quantity(amount.clone()));
        let value = read.ok().filter(|value| *value >= 0).ok_or_else(|| refused("it is no amount"))?;
        amounts.insert(resource.clone(), value);
    }
    Ok(amounts)
}

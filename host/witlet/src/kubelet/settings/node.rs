//! The node itself: its name, labels, addresses, how much of it pods get, and what counts as a shortage.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use witlet_core::node::conditions::{Threshold, Thresholds};
use witlet_core::pod::quantity;
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

/// What pods may not have: what is reserved for the system and for Kubernetes, and what they would be ended for.
fn reserved(wanted: &Wanted) -> Result<BTreeMap<String, Quantity>, SettingsError> {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    if let Some(Threshold::Amount(bytes)) = thresholds(wanted)?.memory {
        sums.insert("memory".to_owned(), i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    for (field, part) in
        [("systemReserved", &wanted.system_reserved), ("kubeReserved", &wanted.kube_reserved)]
    {
        for (resource, amount) in part {
            let refused = |why| wrong(field, format!("{resource}={amount}"), why);
            if !matches!(resource.as_str(), "cpu" | "memory" | "ephemeral-storage" | "pid") {
                return Err(refused("cannot reserve this resource"));
            }
            let quantity = Quantity(amount.clone());
            let read =
                if resource == "cpu" { quantity::milli(&quantity) } else { quantity::value(&quantity) };
            let value = read.ok().filter(|value| *value >= 0).ok_or_else(|| refused("it is no amount"))?;
            let sum = sums.entry(resource.clone()).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    let text = |(resource, sum): (String, i64)| {
        let text = if resource == "cpu" { format!("{sum}m") } else { sum.to_string() };
        (resource, Quantity(text))
    };
    Ok(sums.into_iter().map(text).collect())
}

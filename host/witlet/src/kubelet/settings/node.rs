//! The node itself: its name, labels, addresses, how much of it pods get, and when they are evicted.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use witlet_core::eviction::{EvictionConfig, ThresholdConfig};
use witlet_core::node::allocatable::{PIDS, Reservations, cpu_set};
use witlet_core::pod::resources::{self, Amounts, CPU, EPHEMERAL_STORAGE, MEMORY};
use witlet_core::pod::validation::is_label;
use witlet_node::PODS_MAX_DEFAULT;

use super::{SettingsError, bounded, count, wrong};
use crate::kubelet::effective_config::EffectiveConfig;
use crate::kubelet::flags::Flags;
use crate::kubelet::flags::table::Own;
use crate::settings::NodeSettings;

/// Node-labels that upstream's flag takes in Kubernetes' own namespaces, next to those below the prefixes.
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
pub(super) fn node(flags: &Flags, effective: &EffectiveConfig) -> Result<NodeSettings, SettingsError> {
    let labels = flags.pairs(Own::NodeLabels);
    for (label, value) in &labels {
        if !is_label(label, value) {
            let why = "a label's key must be NAME or DOMAIN/NAME; name and value have at most 63 letters, digits, `-`, `_` and `.`, and begin \
                       and end with a letter or digit";
            return Err(wrong("--node-labels", format!("{label}={value}"), why));
        }
        if !may_be_set(label) {
            let why = "labels of kubernetes.io and k8s.io must begin with kubelet.kubernetes.io or node.kubernetes.io, or be one \
                       of the well-known ones";
            return Err(wrong("--node-labels", label, why));
        }
    }
    let max_pods: u32 = count("maxPods", effective.max_pods.unwrap_or(PODS_MAX_DEFAULT.into()))?;
    Ok(NodeSettings {
        name: flags.text(Own::HostnameOverride).map(str::to_lowercase),
        labels,
        max_pods,
        pods_per_core: count("podsPerCore", effective.pods_per_core.unwrap_or(0))?,
        reserved: reserved(flags, effective)?,
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
        let ip: IpAddr = part.parse().map_err(|_| refused("expected an IP address"))?;
        if ips.iter().any(|other| other.is_ipv4() == ip.is_ipv4()) {
            return Err(refused("two addresses must have different IP families"));
        }
        ips.push(ip);
    }
    if ips.len() > 1 && ips.iter().any(IpAddr::is_unspecified) {
        return Err(refused("an unspecified address must be the only one"));
    }
    Ok(ips)
}

/// When pods are evicted. A node whose allocatable ignores eviction enforces none of it, as far as thresholds are concerned (upstream:
/// `NewMainKubelet`): no `allocatableMemory.available` follows from `memory.available` then.
pub(super) fn eviction(flags: &Flags, effective: &EffectiveConfig) -> Result<EvictionConfig, SettingsError> {
    let enforced = effective.enforce_node_allocatable.as_ref();
    let enforces_pods = enforced.is_none_or(|all| all.iter().any(|one| one == "pods"));
    let config = ThresholdConfig {
        hard: effective.eviction_hard.clone(),
        soft: effective.eviction_soft.clone(),
        soft_grace: effective.eviction_soft_grace_period.clone(),
        min_reclaim: effective.eviction_minimum_reclaim.clone(),
        merge_defaults: effective.merge_default_eviction_settings,
        enforces_pods: enforces_pods && !flags.is_on(Own::AllocatableIgnoreEviction),
    };
    let thresholds = config.thresholds()?;
    let grace = effective.eviction_max_pod_grace_period.unwrap_or(0);
    let default = EvictionConfig::default();
    Ok(EvictionConfig {
        thresholds,
        pressure_transition: effective
            .eviction_pressure_transition_period
            .unwrap_or(default.pressure_transition),
        max_pod_grace_seconds: bounded("evictionMaxPodGracePeriod", grace, i32::MIN.into(), i32::MAX.into())?,
        local_storage_isolation: effective.local_storage_capacity_isolation.unwrap_or(true),
        memory_notification: effective.kernel_memcg_notification,
    })
}

/// Returns what pods may not have: what is reserved for the system and for Kubernetes, and what they would be evicted at. CPUs that are
/// reserved by number take the place of both amounts of CPU.
pub(super) fn reserved(flags: &Flags, effective: &EffectiveConfig) -> Result<Reservations, SettingsError> {
    let mut system = amounts("systemReserved", &effective.system_reserved)?;
    let mut kube = amounts("kubeReserved", &effective.kube_reserved)?;
    if let Some(list) = &effective.reserved_system_cpus {
        let cpus = cpu_set(list).ok_or_else(|| SettingsError::Invalid {
            problems: vec![format!("unable to parse reservedSystemCPUs (--reserved-cpus) {list}")],
        })?;
        if !cpus.is_empty() {
            kube.remove(CPU);
            let milli = i64::try_from(cpus.len()).unwrap_or(i64::MAX).saturating_mul(1000);
            system.insert(CPU.to_owned(), milli);
        }
    }
    let eviction = match flags.is_on(Own::AllocatableIgnoreEviction) {
        true => Vec::new(),
        false => eviction(flags, effective)?.thresholds,
    };
    Ok(Reservations { system, kube, eviction })
}

fn amounts(field: &'static str, given: &BTreeMap<String, String>) -> Result<Amounts, SettingsError> {
    let mut amounts = Amounts::new();
    for (resource, amount) in given {
        let refused = |why| wrong(field, format!("{resource}={amount}"), why);
        if !matches!(resource.as_str(), CPU | MEMORY | EPHEMERAL_STORAGE | PIDS) {
            return Err(refused("cannot reserve this resource"));
        }
        let read = resources::amount(resource, &Quantity(amount.clone()));
        let value = read.ok().filter(|value| *value >= 0).ok_or_else(|| refused("expected a quantity"))?;
        amounts.insert(resource.clone(), value);
    }
    Ok(amounts)
}

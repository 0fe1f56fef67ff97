//! What of the node isn't for pods, and what is left for them (`cm/node_container_manager_linux.go`,
//! `apis/config/validation`): once as it is enforced on the cgroup of all pods, once as the node's status reports it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use thiserror::Error;

use crate::eviction::{Signal, Threshold};
use crate::pod::resources::{self, Amounts, CPU, EPHEMERAL_STORAGE, MEMORY};

#[cfg(test)]
mod tests;

/// Name of process ids among reservations.
pub const PIDS: &str = "pid";

/// What is kept back from pods. `cpu` in thousandths, all else in base units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reservations {
    /// For the system (`systemReserved`).
    pub system: Amounts,
    /// For Kubernetes' own daemons (`kubeReserved`).
    pub kube: Amounts,
    /// What pods are evicted at; only hard thresholds count (`evictionHard`).
    pub eviction: Vec<Threshold>,
}

/// More is reserved than the node has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid Node Allocatable configuration. {}", problems.join(" "))]
pub struct ExcessiveReservation {
    /// A sentence for each resource.
    pub problems: Vec<String>,
}

impl Reservations {
    /// Returns what pods may use together of these amounts, as it is enforced: without eviction thresholds.
    pub fn enforced(&self, capacity: &Amounts) -> Amounts {
        let left = |(name, all): (&String, &i64)| {
            let kept = amount(&self.system, name).saturating_add(amount(&self.kube, name));
            (name.clone(), all.saturating_sub(kept).max(0))
        };
        capacity.iter().map(left).collect()
    }

    /// Returns what the node's status takes off its capacity, resource by resource; nothing of what isn't reserved.
    pub fn reported(&self, capacity: &Amounts) -> Amounts {
        let kept = |(name, all): (&String, &i64)| {
            let sum = [amount(&self.system, name), amount(&self.kube, name), self.eviction_of(name, *all)];
            let sum = sum.into_iter().fold(0_i64, i64::saturating_add);
            (sum != 0).then(|| (name.clone(), sum))
        };
        capacity.iter().filter_map(kept).collect()
    }

    /// Returns what must be left of a resource for no pod to be evicted.
    pub(super) fn eviction_of(&self, resource: &str, capacity: i64) -> i64 {
        let signal = match resource {
            MEMORY => Signal::MemoryAvailable,
            EPHEMERAL_STORAGE => Signal::NodeFsAvailable,
            _ => return 0,
        };
        let hard = self.eviction.iter().filter(|threshold| threshold.is_hard());
        let mut of_signal = hard.filter(|threshold| threshold.signal == signal);
        of_signal.next().map_or(0, |threshold| threshold.value.amount(capacity))
    }

    /// Checks whether the node has what is reserved.
    ///
    /// # Errors
    /// When it hasn't; upstream ends the start with these words.
    pub fn check(&self, capacity: &Amounts) -> Result<(), ExcessiveReservation> {
        let beyond = |(name, reserved): (String, i64)| {
            let all = amount(capacity, &name);
            let (shown, all_shown) = (text(&name, reserved), text(&name, all));
            (reserved > all).then(|| {
                format!(
                    "Resource {name:?} has a reservation of {shown} but capacity of {all_shown}. Expected capacity >= \
                     reservation."
                )
            })
        };
        let problems: Vec<String> = self.reported(capacity).into_iter().filter_map(beyond).collect();
        if problems.is_empty() { Ok(()) } else { Err(ExcessiveReservation { problems }) }
    }
}

fn amount(amounts: &Amounts, name: &str) -> i64 {
    amounts.get(name).copied().unwrap_or_default()
}

fn text(resource: &str, amount: i64) -> String {
    quantity(resource, amount).0
}

/// An amount as a quantity: CPU in thousandths where it has to be.
pub fn quantity(resource: &str, amount: i64) -> Quantity {
    match resource {
        CPU if amount % 1000 != 0 => Quantity(format!("{amount}m")),
        CPU => Quantity((amount / 1000).to_string()),
        _ => Quantity(amount.to_string()),
    }
}

/// A list of the API as amounts; what is no quantity is left out.
pub fn amounts(list: &BTreeMap<String, Quantity>) -> Amounts {
    let read = |(name, quantity): (&String, &Quantity)| {
        Some((name.clone(), resources::amount(name, quantity).ok()?))
    };
    list.iter().filter_map(read).collect()
}

/// What limits are set on (`enforceNodeAllocatable`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Enforcement {
    Pods,
    /// The system's own cgroup.
    SystemReserved,
    /// The weight of its CPU only.
    SystemReservedCompressible,
    /// The cgroup of Kubernetes' daemons.
    KubeReserved,
    /// The weight of its CPU only.
    KubeReservedCompressible,
}

impl Enforcement {
    /// In the order in which they are carried out.
    pub const ALL: [Self; 5] = [
        Self::Pods,
        Self::SystemReserved,
        Self::KubeReserved,
        Self::SystemReservedCompressible,
        Self::KubeReservedCompressible,
    ];

    /// Returns the name as `enforceNodeAllocatable` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::SystemReserved => "system-reserved",
            Self::SystemReservedCompressible => "system-reserved-compressible",
            Self::KubeReserved => "kube-reserved",
            Self::KubeReservedCompressible => "kube-reserved-compressible",
        }
    }

    /// Returns the name as messages have it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pods => "Node Allocatable",
            Self::SystemReserved => "System Reserved",
            Self::SystemReservedCompressible => "System Reserved Compressible",
            Self::KubeReserved => "Kube Reserved",
            Self::KubeReservedCompressible => "Kube Reserved Compressible",
        }
    }

    /// Whether only what can be shared at any time is set.
    pub fn is_compressible(self) -> bool {
        matches!(self, Self::SystemReservedCompressible | Self::KubeReservedCompressible)
    }

    /// Whether it is the system's cgroup.
    pub fn is_system(self) -> bool {
        matches!(self, Self::SystemReserved | Self::SystemReservedCompressible)
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|enforcement| enforcement.name() == name)
    }
}

/// The word that asks for none at all.
const NONE: &str = "none";

/// What `enforceNodeAllocatable` goes with.
#[derive(Clone, Copy, Debug)]
pub struct EnforcementFacts<'a> {
    /// `cgroupsPerQOS`
    pub cgroups_per_qos: bool,
    /// `systemReservedCgroup`; empty is none.
    pub system_cgroup: &'a str,
    /// `kubeReservedCgroup`; empty is none.
    pub kube_cgroup: &'a str,
}

/// The enforcements that `enforceNodeAllocatable` names.
///
/// # Errors
/// The problems, in upstream's words.
pub fn enforcements(
    names: &[String],
    facts: EnforcementFacts<'_>,
) -> Result<BTreeSet<Enforcement>, Vec<String>> {
    const FIELD: &str = "enforceNodeAllocatable (--enforce-node-allocatable)";
    let mut problems = Vec::new();
    let has = |enforcement: Enforcement| names.iter().any(|name| name == enforcement.name());
    for (whole, compressible) in [
        (Enforcement::SystemReserved, Enforcement::SystemReservedCompressible),
        (Enforcement::KubeReserved, Enforcement::KubeReservedCompressible),
    ] {
        if has(whole) && has(compressible) {
            let (whole, compressible) = (whole.name(), compressible.name());
            problems
                .push(format!("both {whole:?} and {compressible:?} cannot be specified together in {FIELD}"));
        }
    }
    let mut all = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            problems.push(format!("duplicated enforcements {name:?} in {FIELD}"));
            continue;
        }
        if name == NONE {
            if names.len() > 1 {
                problems.push(format!(
                    "{FIELD} may not contain additional enforcements when {NONE:?} is specified"
                ));
            }
            continue;
        }
        let Some(enforcement) = Enforcement::of_name(name) else {
            problems.push(format!(
                "option {name:?} specified for {FIELD}. Valid options are \"pods\", \"system-reserved\", \
                 \"system-reserved-compressible\", \"kube-reserved\", \"kube-reserved-compressible\" or \"none\""
            ));
            continue;
        };
        problems
            .extend(missing_cgroup(enforcement, facts).map(|cgroup| format!("{cgroup} included in {FIELD}")));
        if !facts.cgroups_per_qos {
            problems.push(format!(
                "cgroupsPerQOS (--cgroups-per-qos) must be set to true when {name:?} contained in {FIELD}"
            ));
        }
        all.insert(enforcement);
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// The beginning of the message about a cgroup that isn't named.
fn missing_cgroup(enforcement: Enforcement, facts: EnforcementFacts<'_>) -> Option<String> {
    let (cgroup, field, flag, which) = match enforcement {
        Enforcement::Pods => return None,
        Enforcement::SystemReserved | Enforcement::SystemReservedCompressible => {
            (facts.system_cgroup, "systemReservedCgroup", "system-reserved-cgroup", "system-reserved")
        }
        Enforcement::KubeReserved | Enforcement::KubeReservedCompressible => {
            (facts.kube_cgroup, "kubeReservedCgroup", "kube-reserved-cgroup", "kube-reserved")
        }
    };
    cgroup
        .is_empty()
        .then(|| format!("{field} (--{flag}) must be specified when \"{which}\" or \"{which}-compressible\""))
}

/// CPUs of a list in the kernel's form (`0-3,8`), each once; none for a text that is no such list.
pub fn cpu_set(list: &str) -> Option<BTreeSet<u32>> {
    /// More than any kernel counts.
    const CPUS_MAX: u32 = 1 << 16;
    let mut set = BTreeSet::new();
    for part in list.trim().split(',').filter(|_| !list.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last >= CPUS_MAX {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

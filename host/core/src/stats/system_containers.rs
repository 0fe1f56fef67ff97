//! The summary's system containers: what of the node isn't one pod's (`server/stats/summary_sys_containers.go`).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::cgroup_usage::CgroupUsage;
use super::summary::SystemMeasurement;

#[cfg(test)]
mod tests;

/// Processes of the node that share a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SystemContainer {
    Kubelet,
    Runtime,
    /// What else runs on the node.
    Misc,
    Pods,
}

impl SystemContainer {
    /// Returns its name in the summary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::Runtime => "runtime",
            Self::Misc => "misc",
            Self::Pods => "pods",
        }
    }
}

/// The cgroups of system containers that only a configuration names, as paths of the cgroup file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedCgroups {
    /// The container runtime's (`--runtime-cgroups`).
    pub runtime: Option<String>,
    /// That of all other processes of the node (`systemCgroups`).
    pub misc: Option<String>,
}

impl NamedCgroups {
    /// Returns those that are checked. An empty name is none.
    pub fn named(&self) -> impl Iterator<Item = (SystemContainer, &str)> {
        let all = [(SystemContainer::Runtime, &self.runtime), (SystemContainer::Misc, &self.misc)];
        all.into_iter().filter_map(|(container, name)| {
            let name = name.as_deref().filter(|name| !name.is_empty())?;
            Some((container, name))
        })
    }
}

/// What the kernel says of a system container's cgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemUsage {
    pub usage: CgroupUsage,
    /// When the cgroup was made.
    pub created_at: Option<Timestamp>,
}

/// Returns what is shown of those that were found; the agent is there since it was started, whatever its cgroup says.
pub fn measurements(
    found: &BTreeMap<SystemContainer, SystemUsage>,
    agent_started_at: Timestamp,
    mut nanocores: impl FnMut(SystemContainer, &CgroupUsage) -> Option<u64>,
) -> Vec<SystemMeasurement> {
    let measurement = |(container, found): (&SystemContainer, &SystemUsage)| SystemMeasurement {
        name: container.name(),
        started_at: match container {
            SystemContainer::Kubelet => Some(agent_started_at),
            SystemContainer::Runtime | SystemContainer::Misc | SystemContainer::Pods => found.created_at,
        },
        usage: found.usage,
        nanocores: nanocores(*container, &found.usage),
    };
    found.iter().map(measurement).collect()
}

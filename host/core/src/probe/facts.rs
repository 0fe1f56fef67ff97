//! What a probe worker sees of its container: the pod's status, as far as it concerns the probe.

use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};

use crate::container::plan::{RestartAction, restart_rule, should_restart};
use crate::runtime::ContainerId;

#[cfg(test)]
mod tests;

/// The pod of a worker's container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedPod {
    /// Its phase is `Succeeded` or `Failed`.
    pub is_terminal: bool,
    /// It is being deleted.
    pub is_deleted: bool,
    /// The newest instance of the container; none before there is one.
    pub container: Option<ProbedContainer>,
}

/// The instance of a container that a worker probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedContainer {
    pub id: ContainerId,
    pub state: ProbedState,
    /// It passed its startup probe, or has none.
    pub is_started: bool,
}

/// What a probed container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbedState {
    /// It doesn't run yet.
    Waiting,
    Running {
        /// Since when, if the runtime says.
        since: Option<Timestamp>,
    },
    Ended {
        /// It will run again: by the pod's restart policy, its own, or a rule.
        restarts: bool,
    },
}

/// What a probe type sees of the container instance that it probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbedInstance {
    /// How often the container was restarted.
    pub restarts: u32,
    /// The pod's addresses, the primary one first.
    pub pod_ips: Vec<IpAddr>,
    /// The node's addresses, the primary one first.
    pub host_ips: Vec<IpAddr>,
}

/// Whether the container is a sidecar: an init container that is restarted always. No other init container is probed.
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// The containers of a pod that may be probed: those of the spec, and sidecars.
pub fn probed_containers(pod: &Pod) -> impl Iterator<Item = (&Container, bool)> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| {
        let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
        sidecars.map(|container| (container, true)).chain(spec.containers.iter().map(|c| (c, false)))
    })
}

/// Returns what a worker of this container sees of its pod.
pub fn probed_pod(pod: &Pod, container: &Container, status: &PodStatus) -> ProbedPod {
    ProbedPod {
        is_terminal: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
        is_deleted: pod.metadata.deletion_timestamp.is_some(),
        container: instance(status, &container.name).map(|(id, instance)| ProbedContainer {
            id,
            state: state(pod, container, instance, status),
            is_started: instance.started == Some(true),
        }),
    }
}

/// Returns what the pod's status reports the container's newest instance and of the addresses. What isn't one is left out.
pub fn probed_instance(status: &PodStatus, name: &str) -> ProbedInstance {
    let restarts = instance(status, name).map(|(_, instance)| instance.restart_count).unwrap_or_default();
    let pod_ips = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str());
    let host_ips = status.host_ips.iter().flatten().map(|ip| ip.ip.as_str());
    ProbedInstance {
        restarts: u32::try_from(restarts).unwrap_or_default(),
        pod_ips: parsed(status.pod_ip.as_deref(), pod_ips),
        host_ips: parsed(status.host_ip.as_deref(), host_ips),
    }
}

/// Addresses, each once, the primary one first.
fn parsed<'a>(primary: Option<&'a str>, all: impl Iterator<Item = &'a str>) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in primary.into_iter().chain(all).filter_map(|text| text.parse().ok()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// The status of the container's newest instance, with its id without the runtime's scheme.
fn instance<'a>(status: &'a PodStatus, name: &str) -> Option<(ContainerId, &'a ContainerStatus)> {
    [&status.container_statuses, &status.init_container_statuses].into_iter().find_map(|statuses| {
        let instance = statuses.iter().flatten().find(|status| status.name == name)?;
        let id = instance.container_id.as_deref()?;
        let id = id.split_once("://").map_or(id, |(_, id)| id);
        (!id.is_empty()).then(|| (ContainerId::from(id), instance))
    })
}

fn state(pod: &Pod, container: &Container, instance: &ContainerStatus, status: &PodStatus) -> ProbedState {
    let Some(state) = &instance.state else { return ProbedState::Waiting };
    if let Some(running) = &state.running {
        return ProbedState::Running { since: running.started_at.as_ref().map(|time| time.0) };
    }
    match &state.terminated {
        Some(ended) => ProbedState::Ended {
            restarts: should_restart(pod, container, ended.exit_code) || restarts_all(pod, status),
        },
        None => ProbedState::Waiting,
    }
}

/// Whether some container ended in a way that restarts them all (KEP-5532).
fn restarts_all(pod: &Pod, status: &PodStatus) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let statuses = [&status.init_container_statuses, &status.container_statuses];
    statuses.into_iter().flatten().flatten().any(|instance| {
        let ended = instance.state.as_ref().and_then(|state| state.terminated.as_ref());
        let mut containers = spec.init_containers.iter().flatten().chain(&spec.containers);
        let container = containers.find(|container| container.name == instance.name);
        container.zip(ended).is_some_and(|(container, ended)| {
            restart_rule(container, ended.exit_code) == Some(RestartAction::RestartAll)
        })
    })
}

//! A pod's status: what the API, the local socket and people see of it, generated from facts.
//!
//! Rules of the kubelet's `generateAPIPodStatus` and of its status manager. Init and ephemeral containers have no status
//! in this release.

mod conditions;
mod containers;
mod phase;
mod special;

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{HostIP, Pod, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::container::plan::sandbox::{SandboxNeed, need, network_of};
use crate::pod::resources::qos;
use crate::runtime::{ContainerId, NamespaceMode, ObservedPod};

pub use containers::{IllegalTransition, ProbeResults, Waiting, WaitingReason, check_container_transition};
pub use phase::Phase;
pub use special::{blocked, rejected, terminated};

/// The facts that a status is generated from.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// The pod as its source wants it.
    pub pod: &'a Pod,
    /// What the runtime has of it.
    pub observed: &'a ObservedPod,
    /// The status generated last, if any. What it says stays where nothing newer is known.
    pub previous: Option<&'a PodStatus>,
    /// Addresses of the host, the primary one first.
    pub host_ips: &'a [IpAddr],
    /// The runtime's name, the scheme of container ids.
    pub runtime_name: &'a str,
    /// Why containers that should be started aren't, by container name. An entry is removed when the container starts.
    pub waiting: &'a BTreeMap<String, Waiting>,
    /// Results of probes, by container id.
    pub probes: &'a BTreeMap<ContainerId, ProbeResults>,
    /// No container of the pod will be started any more: it is deleted, evicted, or was found ended.
    pub ends: bool,
    /// The time.
    pub now: Timestamp,
}

/// The pod's status now.
pub fn generate(input: StatusInput<'_>) -> PodStatus {
    let StatusInput { pod, observed, previous, now, .. } = input;
    let statuses = containers::statuses(input);
    let generated = phase::of_containers(pod, &statuses, input.ends);
    let before = previous.and_then(Phase::of);
    // What has ended stays ended, whatever the runtime has forgotten since.
    let ended =
        [before, pod.status.as_ref().and_then(Phase::of)].into_iter().flatten().find(|p| p.is_terminal());
    let phase = if generated.is_terminal() { generated } else { ended.unwrap_or(generated) };
    // Reason and message belong to the phase, and go with it.
    let kept = previous.filter(|_| before == Some(phase));
    let mut status = PodStatus {
        phase: Some(phase.as_str().to_owned()),
        reason: kept.and_then(|previous| previous.reason.clone()),
        message: kept.and_then(|previous| previous.message.clone()),
        container_statuses: Some(statuses),
        ..base(pod, previous, now)
    };
    set_addresses(&mut status, input);
    let has_network = matches!(need(pod, observed), SandboxNeed::Keep(_));
    status.conditions = Some(conditions::generate(conditions::ConditionInput {
        pod,
        phase,
        statuses: status.container_statuses.as_deref().unwrap_or_default(),
        has_network,
        previous,
        now,
    }));
    status
}

/// What every status has.
fn base(pod: &Pod, previous: Option<&PodStatus>, now: Timestamp) -> PodStatus {
    PodStatus {
        qos_class: Some(qos(pod).as_str().to_owned()),
        start_time: previous.and_then(|previous| previous.start_time.clone()).or(Some(Time(now))),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

/// A pod on the host's network has the host's addresses. One whose sandbox is gone keeps those that it had.
fn set_addresses(status: &mut PodStatus, input: StatusInput<'_>) {
    let StatusInput { pod, observed, previous, host_ips, .. } = input;
    let texts = |ips: &[IpAddr]| ips.iter().map(IpAddr::to_string).collect::<Vec<_>>();
    let hosts = texts(host_ips);
    let own = match network_of(pod) {
        NamespaceMode::Node => hosts.clone(),
        NamespaceMode::Pod | NamespaceMode::Container if observed.ips.is_empty() => {
            previous.and_then(|p| p.pod_ips.as_ref()).into_iter().flatten().map(|ip| ip.ip.clone()).collect()
        }
        NamespaceMode::Pod | NamespaceMode::Container => texts(&observed.ips),
    };
    status.host_ip = hosts.first().cloned();
    status.host_ips = some(hosts.into_iter().map(|ip| HostIP { ip }).collect());
    status.pod_ip = own.first().cloned();
    status.pod_ips = some(own.into_iter().map(|ip| PodIP { ip }).collect());
}

/// None for an empty list, as the API leaves such fields out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests;

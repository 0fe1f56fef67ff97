//! A pod's status: what the API, the local socket and people see of it, generated from facts.
//!
//! Rules of the kubelet's `generateAPIPodStatus` and of its status manager. `PodStatus.resize` stays empty, as it does
//! upstream since conditions say how a resize stands; so does `allocatedResourcesStatus`, because there are no device plugins.

mod addresses;
mod conditions;
mod containers;
mod edit;
mod merge;
mod patch;
mod phase;
mod probed;
mod readiness;
mod resize;
mod resources;
mod restart_all;
mod special;
mod terminated;
pub mod termination_message;
mod transition;
mod waiting;
pub mod write;

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::container::plan::app_containers;
use crate::container::plan::sandbox::{SandboxNeed, need};
use crate::pod::deadline;
use crate::pod::resources::qos;
use crate::probe::ProbeResults;
use crate::runtime::{ObservedPod, SandboxState};

pub use conditions::is_readiness_outdated;
pub use edit::{EditKind, PendingEdit, PendingEditReason};
pub use merge::merge;
pub use patch::patch;
pub use phase::Phase;
pub use probed::{StartedContainers, probed, started_containers};
pub use resize::{
    PENDING as RESIZE_PENDING, ResizeInProgress, ResizePending, ResizePendingReason, ResizeStatus,
};
pub use special::{
    AdmissionPending, NodeEnd, blocked, ended_by_node, is_blocked, is_ended_by_node, is_evicted,
    is_preempted, overdue, put_admission_pending, put_pending_edits, rejected, terminated,
};
pub use terminated::{Termination, terminations};
pub use transition::{IllegalTransition, check_container_transition};
pub use waiting::{Waiting, WaitingReason};

/// The facts that a status is generated from.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// The pod as its source wants it, with the resources that it was allocated.
    pub pod: &'a Pod,
    /// What the runtime has of it, with the termination messages that were read.
    pub observed: &'a ObservedPod,
    /// The status generated last, if any. What it says stays where nothing newer is known.
    pub previous: Option<&'a PodStatus>,
    /// Addresses of the host, the primary one first.
    pub host_ips: &'a [IpAddr],
    /// The runtime's name, the scheme of container ids.
    pub runtime_name: &'a str,
    /// Whether the handler of the pod's runtime class has recursive read-only mounts.
    pub recursive_read_only: bool,
    /// Why containers that should be started aren't, by container name. An entry is removed when the container starts.
    pub waiting: &'a BTreeMap<String, Waiting>,
    /// Results of probes, by container id.
    pub probes: &'a ProbeResults,
    /// What probes had found before the agent was restarted.
    pub started_before: &'a StartedContainers,
    /// How an in-place resize of the pod stands.
    pub resize: &'a ResizeStatus,
    /// No container of the pod will be started any more: it is deleted, evicted, or was found ended.
    pub ends: bool,
    pub now: Timestamp,
}

/// The pod's status now.
pub fn generate(input: StatusInput<'_>) -> PodStatus {
    let StatusInput { pod, observed, previous, now, .. } = input;
    let statuses = containers::statuses(input);
    let deciding = statuses.deciding();
    let generated = phase::of_containers(phase::PhaseInput {
        pod,
        statuses: &deciding,
        ends: input.ends,
        has_initialized: has_initialized(pod, observed),
    });
    let reported = ReportedPhase::of(input, generated);
    let has_network = matches!(need(pod, observed), SandboxNeed::Keep(_));
    let conditions = conditions::generate(conditions::ConditionInput {
        pod,
        phase: reported.phase,
        statuses: Some(&deciding),
        has_network,
        restarting_all: restart_all::is_under_way(pod, observed),
        resize: input.resize,
        previous,
        now,
    });
    let mut status = PodStatus {
        phase: Some(reported.phase.as_str().to_owned()),
        reason: reported.reason,
        message: reported.message,
        conditions: Some(conditions),
        init_container_statuses: some(statuses.init),
        container_statuses: Some(statuses.app),
        ephemeral_container_statuses: some(statuses.ephemeral),
        ..base(pod, previous, now)
    };
    status.start_time = Some(Time(started_at(input)));
    resources::set_of_pod(&mut status, input);
    addresses::set(&mut status, input);
    status
}

/// Since when the pod is on the node: as it was reported, which is before it has a sandbox. An agent that has been restarted and
/// that no one says goes by the oldest sandbox that is left.
fn started_at(input: StatusInput<'_>) -> Timestamp {
    let reported = input.previous.and_then(|previous| previous.start_time.as_ref()).map(|time| time.0);
    let oldest = input.observed.sandboxes.iter().map(|sandbox| sandbox.created_at).min();
    reported.unwrap_or_else(|| oldest.map_or(input.now, |oldest| oldest.min(input.now)))
}

/// The phase with the reason and the message that belong to it.
struct ReportedPhase {
    phase: Phase,
    reason: Option<String>,
    message: Option<String>,
}

impl ReportedPhase {
    /// What was reported to have ended stays ended, whatever the runtime says of it since; and a pod whose time is over has
    /// failed. A pod that was evicted or preempted, and whose containers all ended well on the way, has succeeded (upstream: the
    /// phase of the containers, where that is terminal, comes before the one that was set when the end began).
    fn of(input: StatusInput<'_>, generated: Phase) -> Self {
        let StatusInput { pod, previous, now, .. } = input;
        let at_source = pod.status.as_ref();
        let phase_of = |status: Option<&PodStatus>| status.and_then(Phase::of);
        let ended_well = generated == Phase::Succeeded
            && previous.is_some_and(|previous| is_evicted(previous) || is_preempted(previous));
        let before = previous.filter(|_| !ended_well);
        let mut ends =
            [at_source, before].into_iter().filter_map(phase_of).filter(|phase| phase.is_terminal());
        let phase = ends.next().unwrap_or(generated);
        if !phase.is_terminal() && deadline::is_over(pod, Some(started_at(input)), now) {
            let text = |text: &str| Some(text.to_owned());
            return Self {
                phase: Phase::Failed,
                reason: text(deadline::REASON),
                message: text(deadline::MESSAGE),
            };
        }
        // Reason and message belong to the phase, and go with it; those of a deferral go with the admission.
        let stays = phase_of(previous) == Some(phase);
        let text = |get: fn(&PodStatus) -> &Option<String>| {
            let reported = [previous, at_source].into_iter().flatten();
            let reported = reported.filter(|status| stays && !is_blocked(status));
            reported.filter_map(|status| get(status).clone()).next()
        };
        Self { phase, reason: text(|status| &status.reason), message: text(|status| &status.message) }
    }
}

/// Returns what every status has.
fn base(pod: &Pod, previous: Option<&PodStatus>, now: Timestamp) -> PodStatus {
    PodStatus {
        qos_class: Some(qos(pod).as_str().to_owned()),
        start_time: previous.and_then(|previous| previous.start_time.clone()).or(Some(Time(now))),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

/// Whether an app container was made in the sandbox that the pod has now (upstream:
/// `HasAnyActiveRegularContainerStarted`).
fn has_initialized(pod: &Pod, observed: &ObservedPod) -> bool {
    let Some(active) = observed.sandboxes.first().filter(|sandbox| sandbox.state == SandboxState::Ready)
    else {
        return false;
    };
    observed.containers.iter().any(|container| {
        // A runtime that doesn't say where a container is has but one sandbox for each pod.
        container.sandbox_id.as_ref().is_none_or(|id| *id == active.id)
            && app_containers(pod).iter().any(|app| app.name == container.name)
    })
}

/// Returns `None` for an empty list, as the API leaves such fields out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests;

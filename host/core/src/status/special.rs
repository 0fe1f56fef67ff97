//! Statuses that don't come from checking the runtime: pods that were refused, that wait, and that are at their end.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus};

use super::conditions::{self, ADMISSION_PENDING, ConditionInput, DISRUPTION_TARGET, turned};
use super::containers::{is_waiting, last_terminated_state, lost_with_pod, terminated_state, waiting_status};
use super::edit::PendingEdit;
use super::resize::ResizeStatus;
use super::waiting::{Waiting, WaitingReason};
use super::{Phase, base, some};
use crate::admission::preemption;
use crate::container::plan::{app_containers, init_containers};
use crate::eviction;
use crate::pod::deadline;
use crate::pod::static_pod::is_static;

/// Why the node ends a pod that would have gone on, as its status says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEnd {
    /// A word of upstream's: `Evicted`, `Terminated` (the node shuts down), `Preempting`, …
    pub reason: String,
    /// One sentence for people.
    pub message: String,
    /// What the condition `DisruptionTarget` says; none for a pod that exceeded a limit of its own, which has no such condition.
    pub condition_message: Option<String>,
}

impl NodeEnd {
    /// Why the node ended the pod that has this status; none if it didn't.
    pub fn of(status: &PodStatus) -> Option<Self> {
        let reason = status.reason.clone().filter(|_| is_ended_by_node(status))?;
        let message = status.message.clone().unwrap_or_default();
        let condition_message = target_of_node(status).and_then(|target| target.message.clone());
        Some(Self { reason, message, condition_message })
    }
}

/// Reason of the condition `DisruptionTarget` that the node sets.
const TERMINATION_BY_KUBELET: &str = "TerminationByKubelet";

/// A pod that admission refused for good: it never runs here. It has no condition of the agent's, not even that it was
/// scheduled (upstream: `rejectPod`).
pub fn rejected(pod: &Pod, reason: &str, message: &str, now: Timestamp) -> PodStatus {
    PodStatus {
        phase: Some(Phase::Failed.as_str().to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(format!("Pod was rejected: {message}")),
        ..base(pod, pod.status.as_ref(), now)
    }
}

/// A pod that admission put off: every container waits as `Blocked`, with the handler's reason and message.
pub fn blocked(
    pod: &Pod,
    previous: Option<&PodStatus>,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> PodStatus {
    let waiting = Waiting { reason: WaitingReason::Blocked, message: format!("{reason}: {message}") };
    let statuses = app_containers(pod).iter().map(|container| waiting_status(container, &waiting));
    let init = init_containers(pod).iter().map(|container| waiting_status(container, &waiting));
    let mut status = PodStatus {
        phase: Some(Phase::Pending.as_str().to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        container_statuses: Some(statuses.collect()),
        init_container_statuses: some(init.collect()),
        ..base(pod, previous, now)
    };
    set_conditions(&mut status, pod, Phase::Pending, previous, now);
    status
}

/// Why the admission of a pod that runs is put off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionPending {
    pub reason: String,
    /// One sentence for people.
    pub message: String,
}

/// Adds to a status that the pod goes on without a new verdict, which it waits for: the condition
/// `witlet.dev/AdmissionPending`. A status that is generated again doesn't have it.
pub fn put_admission_pending(
    status: &mut PodStatus,
    pod: &Pod,
    pending: &AdmissionPending,
    previous: Option<&PodStatus>,
    now: Timestamp,
) {
    let before = previous.and_then(|previous| conditions::find(previous, ADMISSION_PENDING));
    let condition = PodCondition {
        type_: ADMISSION_PENDING.to_owned(),
        status: "True".to_owned(),
        reason: Some(pending.reason.clone()),
        message: Some(pending.message.clone()),
        observed_generation: pod.metadata.generation,
        last_transition_time: turned(before, "True", now),
        ..PodCondition::default()
    };
    conditions::put(status.conditions.get_or_insert_default(), condition);
}

/// Adds to a status that edits of the pod weren't admitted. A status that is generated again doesn't say so, nor does that of a
/// pod at its end.
pub fn put_pending_edits(
    status: &mut PodStatus,
    pending: &[PendingEdit],
    previous: Option<&PodStatus>,
    now: Timestamp,
) {
    if Phase::of(status).is_some_and(Phase::is_terminal) {
        return;
    }
    for edit in pending {
        let condition = edit.condition();
        let before = previous.and_then(|previous| conditions::find(previous, &condition.type_));
        // One that is rejected now and was put off before has turned.
        let same = before.filter(|before| before.reason == condition.reason);
        let last_transition_time = turned(same, &condition.status, now);
        let condition = PodCondition { last_transition_time, ..condition };
        conditions::put(status.conditions.get_or_insert_default(), condition);
    }
}

/// The status of a pod that never ran here and has waited for its admission, or for a disk that takes it, for longer than it
/// may be active.
pub fn overdue(pod: &Pod, last: Option<&PodStatus>, now: Timestamp) -> PodStatus {
    let mut status = PodStatus {
        phase: Some(Phase::Failed.as_str().to_owned()),
        reason: Some(deadline::REASON.to_owned()),
        message: Some(deadline::MESSAGE.to_owned()),
        ..last.cloned().unwrap_or_else(|| base(pod, None, now))
    };
    set_conditions(&mut status, pod, Phase::Failed, last, now);
    status
}

/// Whether a status says that admission put the pod off.
pub fn is_blocked(status: &PodStatus) -> bool {
    let waits_as = |container: &ContainerStatus| container.state.as_ref()?.waiting.as_ref()?.reason.clone();
    let mut containers = status.container_statuses.iter().flatten();
    containers.any(|container| waits_as(container).as_deref() == Some(WaitingReason::Blocked.as_str()))
}

/// The status of a pod that the node ends: it has failed for the node's reason, and `DisruptionTarget` says so to anyone who
/// counts failures (KEP-3329).
pub fn ended_by_node(pod: &Pod, last: &PodStatus, end: &NodeEnd, now: Timestamp) -> PodStatus {
    let mut status = PodStatus {
        phase: Some(Phase::Failed.as_str().to_owned()),
        reason: Some(end.reason.clone()),
        message: Some(end.message.clone()),
        ..last.clone()
    };
    if let Some(message) = &end.condition_message {
        let target = PodCondition {
            type_: DISRUPTION_TARGET.to_owned(),
            status: "True".to_owned(),
            reason: Some(TERMINATION_BY_KUBELET.to_owned()),
            message: Some(message.clone()),
            observed_generation: pod.metadata.generation,
            last_transition_time: turned(conditions::find(last, DISRUPTION_TARGET), "True", now),
            ..PodCondition::default()
        };
        conditions::put(status.conditions.get_or_insert_default(), target);
    }
    let with_target = status.clone();
    set_conditions(&mut status, pod, Phase::Failed, Some(&with_target), now);
    status
}

/// Whether a status says that the node ended its pod, for good.
pub fn is_ended_by_node(status: &PodStatus) -> bool {
    let by_node = target_of_node(status).is_some() || is_evicted(status);
    by_node && Phase::of(status).is_some_and(Phase::is_terminal)
}

/// The condition with which the node says that it ends the pod.
fn target_of_node(status: &PodStatus) -> Option<&PodCondition> {
    let is_of_node = |target: &&PodCondition| {
        target.status == "True" && target.reason.as_deref() == Some(TERMINATION_BY_KUBELET)
    };
    conditions::find(status, DISRUPTION_TARGET).filter(is_of_node)
}

/// Whether a status says that its pod was evicted (upstream: `PodIsEvicted`).
pub fn is_evicted(status: &PodStatus) -> bool {
    Phase::of(status) == Some(Phase::Failed) && status.reason.as_deref() == Some(eviction::REASON)
}

/// Whether a status says that its pod was ended to free resources for a critical one.
pub fn is_preempted(status: &PodStatus) -> bool {
    status.reason.as_deref() == Some(preemption::REASON) && is_ended_by_node(status)
}

/// A pod of which nothing runs any more. A container that no one saw end counts as killed, unless the pod never came to it;
/// and the phase becomes terminal, but not that of a static pod, which its source may bring back (upstream,
/// kubernetes#116484).
pub fn terminated(pod: &Pod, last: &PodStatus, now: Timestamp) -> PodStatus {
    let mut status = last.clone();
    if has_initialized(pod, last) {
        status.container_statuses.iter_mut().flatten().for_each(end);
    }
    let tried = tried_init_containers(last);
    status.init_container_statuses.iter_mut().flatten().take(tried).for_each(end);
    let all = [
        &mut status.init_container_statuses,
        &mut status.container_statuses,
        &mut status.ephemeral_container_statuses,
    ];
    for container in all.into_iter().flatten().flatten() {
        // An init container that is done stays ready, which is what it means for one.
        container.ready &= terminated_state(container).is_some_and(|ended| ended.exit_code == 0);
        container.started = container.started.map(|_| false);
    }
    for container in status.container_statuses.iter_mut().flatten() {
        container.ready = false;
    }
    let phase = match Phase::of(last) {
        Some(phase) if phase.is_terminal() || is_static(pod) => phase,
        None if is_static(pod) => Phase::Pending,
        Some(_) | None => Phase::Failed,
    };
    status.phase = Some(phase.as_str().to_owned());
    set_conditions(&mut status, pod, phase, Some(last), now);
    status
}

fn end(container: &mut ContainerStatus) {
    if terminated_state(container).is_none() {
        container.state = Some(lost_with_pod());
    }
}

/// Whether the pod came as far as its app containers: it has no init containers, the last of them succeeded, or an app
/// container was started.
fn has_initialized(pod: &Pod, last: &PodStatus) -> bool {
    let left_waiting =
        |status: &ContainerStatus| !is_waiting(status) || last_terminated_state(status).is_some();
    let succeeded = |status: &ContainerStatus| {
        [terminated_state(status), last_terminated_state(status)]
            .into_iter()
            .flatten()
            .any(|ended| ended.exit_code == 0)
    };
    init_containers(pod).is_empty()
        || last.container_statuses.iter().flatten().any(left_waiting)
        || last.init_container_statuses.iter().flatten().next_back().is_some_and(succeeded)
}

/// How many init containers, from the first on, the pod has tried: up to the last one that isn't waiting for its first
/// start, and at least one.
fn tried_init_containers(last: &PodStatus) -> usize {
    let statuses = last.init_container_statuses.as_deref().unwrap_or_default();
    let tried = |status: &ContainerStatus| !is_waiting(status) || last_terminated_state(status).is_some();
    statuses.iter().rposition(tried).unwrap_or_default() + 1
}

fn set_conditions(
    status: &mut PodStatus,
    pod: &Pod,
    phase: Phase,
    previous: Option<&PodStatus>,
    now: Timestamp,
) {
    let init = status.init_container_statuses.iter().flatten();
    let statuses: Vec<&ContainerStatus> = init.chain(status.container_statuses.iter().flatten()).collect();
    let conditions = conditions::generate(ConditionInput {
        pod,
        phase,
        statuses: status.container_statuses.is_some().then_some(statuses.as_slice()),
        has_network: false,
        restarting_all: false,
        resize: &ResizeStatus::default(),
        previous,
        now,
    });
    status.conditions = Some(conditions);
}

#[cfg(test)]
mod tests;

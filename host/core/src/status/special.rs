//! Statuses that don't come from looking at the runtime: pods that were refused, that wait, and that are at their end.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};

use super::conditions::{self, ConditionInput};
use super::containers::{Waiting, WaitingReason, lost_state, terminated_state, waiting_status};
use super::{Phase, base};
use crate::container::plan::app_containers;
use crate::pod::static_pod::is_static;

/// A pod that admission refused for good: it never runs here.
pub fn rejected(pod: &Pod, reason: &str, message: &str, now: Timestamp) -> PodStatus {
    let previous = pod.status.as_ref();
    let mut status = PodStatus {
        phase: Some(Phase::Failed.as_str().to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(format!("Pod was rejected: {message}")),
        ..base(pod, previous, now)
    };
    set_conditions(&mut status, pod, Phase::Failed, previous, now);
    status
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
    let mut status = PodStatus {
        phase: Some(Phase::Pending.as_str().to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        container_statuses: Some(statuses.collect()),
        ..base(pod, previous, now)
    };
    set_conditions(&mut status, pod, Phase::Pending, previous, now);
    status
}

/// A pod of which nothing runs any more. A container that nobody saw end counts as killed, and the phase becomes terminal;
/// but not that of a static pod, which its source may bring back (upstream, kubernetes#116484).
pub fn terminated(pod: &Pod, last: &PodStatus, now: Timestamp) -> PodStatus {
    let mut status = last.clone();
    for container in status.container_statuses.iter_mut().flatten() {
        if terminated_state(container).is_none() {
            container.state =
                Some(lost_state("The container could not be located when the pod was terminated"));
        }
        container.ready = false;
        container.started = Some(false);
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

fn set_conditions(
    status: &mut PodStatus,
    pod: &Pod,
    phase: Phase,
    previous: Option<&PodStatus>,
    now: Timestamp,
) {
    let statuses = status.container_statuses.as_deref().unwrap_or_default();
    let conditions =
        conditions::generate(ConditionInput { pod, phase, statuses, has_network: false, previous, now });
    status.conditions = Some(conditions);
}

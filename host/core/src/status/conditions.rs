//! The conditions of a pod that the node agent owns (upstream: `status/generate.go`).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::containers::{is_running, terminated_state};
use super::edit;
use super::phase::Phase;
use super::resize::{self, ResizeStatus};
use super::restart_all;
use crate::container::plan::{app_containers, init_containers};
use crate::pod::resources::is_sidecar;

pub(super) const READY_TO_START: &str = "PodReadyToStartContainers";
const INITIALIZED: &str = "Initialized";
pub(super) const READY: &str = "Ready";
pub(super) const CONTAINERS_READY: &str = "ContainersReady";
const SCHEDULED: &str = "PodScheduled";
/// Condition that others and the agent share: the pod ends for a reason that isn't its own.
pub(super) const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// Condition: the pod runs, and its admission, which is asked for again, is put off.
pub(super) const ADMISSION_PENDING: &str = "witlet.dev/AdmissionPending";
pub(super) const OWNED: [&str; 11] = [
    READY_TO_START,
    INITIALIZED,
    READY,
    CONTAINERS_READY,
    SCHEDULED,
    resize::PENDING,
    resize::IN_PROGRESS,
    restart_all::CONDITION,
    ADMISSION_PENDING,
    edit::IMAGES,
    edit::EPHEMERAL_CONTAINERS,
];

const UNKNOWN_CONTAINER_STATUSES: &str = "UnknownContainerStatuses";
const CONTAINERS_NOT_READY: &str = "ContainersNotReady";
const CONTAINERS_NOT_INITIALIZED: &str = "ContainersNotInitialized";
const READINESS_GATES_NOT_READY: &str = "ReadinessGatesNotReady";
const POD_COMPLETED: &str = "PodCompleted";
const POD_FAILED: &str = "PodFailed";
const RESTART_ALL_STARTED: &str = "RestartAllContainersStarted";

/// The facts that conditions are made from.
#[derive(Clone, Copy)]
pub(super) struct ConditionInput<'a> {
    pub(super) pod: &'a Pod,
    pub(super) phase: Phase,
    /// Statuses of init and app containers; none if no one knows any.
    pub(super) statuses: Option<&'a [&'a ContainerStatus]>,
    /// Its sandbox is ready and has its network.
    pub(super) has_network: bool,
    /// All containers are being stopped, to be restarted.
    pub(super) restarting_all: bool,
    pub(super) resize: &'a ResizeStatus,
    pub(super) previous: Option<&'a PodStatus>,
    pub(super) now: Timestamp,
}

/// Whether something holds, and why or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    holds: bool,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Finding {
    fn plain(holds: bool) -> Self {
        Self { holds, reason: None, message: None }
    }

    fn because(holds: bool, reason: &'static str, message: Option<String>) -> Self {
        Self { holds, reason: Some(reason), message }
    }
}

/// Returns all conditions: those of others as they were, then the agent's own. The time of a condition is when it last turned.
pub(super) fn generate(input: ConditionInput<'_>) -> Vec<PodCondition> {
    let containers_ready = containers_ready(input.pod, input.statuses, input.phase);
    let ready = ready(input.pod, &containers_ready);
    let mut conditions: Vec<PodCondition> = foreign(input.pod).cloned().collect();
    // A pod that is at its end isn't resized any more.
    if !input.phase.is_terminal() {
        conditions
            .extend(resize::conditions(input.resize).map(|condition| timed_by_reason(input, condition)));
    }
    let target = input.previous.and_then(|previous| find(previous, DISRUPTION_TARGET));
    if let Some(target) = target {
        put(&mut conditions, target.clone());
    }
    let own = [
        (READY_TO_START, Some(Finding::plain(input.has_network))),
        (INITIALIZED, Some(initialized(input))),
        (READY, Some(ready)),
        (CONTAINERS_READY, Some(containers_ready)),
        (SCHEDULED, Some(Finding::plain(true))),
        (restart_all::CONDITION, restart_all::is_possible(input.pod).then(|| all_restarting(input))),
    ];
    conditions.extend(own.into_iter().filter_map(|(kind, finding)| Some(condition(input, kind, finding?))));
    conditions
}

/// `Ready` and `ContainersReady` alone.
pub(super) fn readiness(input: ConditionInput<'_>) -> [PodCondition; 2] {
    let containers_ready = containers_ready(input.pod, input.statuses, input.phase);
    let ready = ready(input.pod, &containers_ready);
    [condition(input, READY, ready), condition(input, CONTAINERS_READY, containers_ready)]
}

/// Whether the agent alone says what a condition of this type is.
pub(super) fn is_owned(condition: &PodCondition) -> bool {
    OWNED.contains(&condition.type_.as_str())
}

/// The condition of this type.
pub(super) fn find<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
}

/// Puts a condition in the place of the one of its type, or at the end.
pub(super) fn put(conditions: &mut Vec<PodCondition>, condition: PodCondition) {
    match conditions.iter_mut().find(|old| old.type_ == condition.type_) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

/// When a condition with this status turned: when the old one of its type did if that had the same status, else now.
pub(super) fn turned(old: Option<&PodCondition>, status: &str, now: Timestamp) -> Option<Time> {
    let same = old.filter(|old| old.status == status);
    same.and_then(|old| old.last_transition_time.clone()).or(Some(Time(now)))
}

/// Returns what `Ready` and `ContainersReady` of a pod at its end say, without time.
pub(super) fn not_ready_at_end(
    pod_generation: Option<i64>,
    phase: Phase,
    kind: &str,
) -> Option<PodCondition> {
    let finding = ended(phase)?;
    Some(PodCondition {
        type_: kind.to_owned(),
        status: "False".to_owned(),
        reason: finding.reason.map(str::to_owned),
        observed_generation: pod_generation,
        ..PodCondition::default()
    })
}

/// Whether a readiness gate has turned since `Ready` was last reported: then the pod needs a sync though nothing else changed
/// (upstream: `NeedToReconcilePodReadiness`). Judges what the pod's own status says, as its source brought it.
pub fn is_readiness_outdated(pod: &Pod) -> bool {
    let gates = pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_ref());
    if gates.is_none_or(Vec::is_empty) {
        return false;
    }
    let Some(status) = &pod.status else { return false };
    let Some(reported) = find(status, READY) else { return false };
    let Some(phase) = Phase::of(status) else { return false };
    let init = status.init_container_statuses.iter().flatten();
    let statuses: Vec<&ContainerStatus> = init.chain(status.container_statuses.iter().flatten()).collect();
    let containers_ready = containers_ready(pod, Some(&statuses), phase);
    let ready = ready(pod, &containers_ready);
    reported.status != word(ready.holds) || reported.message != ready.message
}

/// Conditions that the agent doesn't own, such as readiness gates: the source's word on them is the newest.
fn foreign(pod: &Pod) -> impl Iterator<Item = &PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().filter(|condition| !is_owned(condition))
}

fn word(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

fn condition(input: ConditionInput<'_>, kind: &str, finding: Finding) -> PodCondition {
    let condition = PodCondition {
        type_: kind.to_owned(),
        status: word(finding.holds).to_owned(),
        reason: finding.reason.map(str::to_owned),
        message: finding.message,
        observed_generation: input.pod.metadata.generation,
        ..PodCondition::default()
    };
    timed(input, condition)
}

fn timed(input: ConditionInput<'_>, mut condition: PodCondition) -> PodCondition {
    let old = input.previous.and_then(|previous| find(previous, &condition.type_));
    condition.last_transition_time = turned(old, &condition.status, input.now);
    condition
}

/// A resize that is now put off for another reason has turned, though its condition held before.
fn timed_by_reason(input: ConditionInput<'_>, mut condition: PodCondition) -> PodCondition {
    let old = input.previous.and_then(|previous| find(previous, &condition.type_));
    let same = old.filter(|old| old.reason == condition.reason);
    condition.last_transition_time = turned(same, &condition.status, input.now);
    condition
}

/// Returns what the end of a pod says of its readiness; none while it hasn't ended.
fn ended(phase: Phase) -> Option<Finding> {
    match phase {
        Phase::Succeeded => Some(Finding::because(false, POD_COMPLETED, None)),
        Phase::Failed => Some(Finding::because(false, POD_FAILED, None)),
        Phase::Pending | Phase::Running => None,
    }
}

/// App containers and sidecars have to be ready.
fn containers_ready(pod: &Pod, statuses: Option<&[&ContainerStatus]>, phase: Phase) -> Finding {
    let Some(statuses) = statuses else {
        let unknown = Finding::because(false, UNKNOWN_CONTAINER_STATUSES, None);
        return ended(phase).unwrap_or(unknown);
    };
    let (mut unknown, mut unready) = (Vec::new(), Vec::new());
    let sidecars = init_containers(pod).iter().filter(|container| is_sidecar(container));
    for container in sidecars.chain(app_containers(pod)) {
        match statuses.iter().find(|status| status.name == container.name) {
            None => unknown.push(container.name.as_str()),
            Some(status) if !status.ready => unready.push(container.name.as_str()),
            Some(_) => {}
        }
    }
    match ended(phase) {
        // Containers of a pod that has failed may still be ending.
        Some(ended) if phase == Phase::Failed || unknown.is_empty() => ended,
        Some(_) | None => match listed([("unknown", unknown), ("unready", unready)]) {
            None => Finding::plain(true),
            Some(message) => Finding::because(false, CONTAINERS_NOT_READY, Some(message)),
        },
    }
}

/// A pod is ready when its containers are and every readiness gate of its spec is a condition that is true.
fn ready(pod: &Pod, containers_ready: &Finding) -> Finding {
    if !containers_ready.holds {
        return containers_ready.clone();
    }
    let gates = pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_ref());
    let problems: Vec<String> = gates
        .into_iter()
        .flatten()
        .filter_map(|gate| {
            let kind = gate.condition_type.as_str();
            match foreign(pod).find(|condition| condition.type_ == kind) {
                None => {
                    Some(format!("corresponding condition of pod readiness gate {kind:?} does not exist."))
                }
                Some(condition) if condition.status == "True" => None,
                Some(condition) => {
                    let status = &condition.status;
                    Some(format!("the status of pod readiness gate {kind:?} is not \"True\", but {status}"))
                }
            }
        })
        .collect();
    if problems.is_empty() {
        Finding::plain(true)
    } else {
        Finding::because(false, READINESS_GATES_NOT_READY, Some(problems.join(", ")))
    }
}

/// Init containers have to be done, and sidecars started; or an app container was started, which comes after them.
fn initialized(input: ConditionInput<'_>) -> Finding {
    let ConditionInput { pod, statuses, phase, .. } = input;
    let init = init_containers(pod);
    let Some(statuses) = statuses else {
        return match init.is_empty() {
            true if phase == Phase::Succeeded => Finding::because(true, POD_COMPLETED, None),
            true => Finding::plain(true),
            false => Finding::because(false, UNKNOWN_CONTAINER_STATUSES, None),
        };
    };
    let (mut unknown, mut incomplete) = (Vec::new(), Vec::new());
    for container in init {
        let status = statuses.iter().find(|status| status.name == container.name);
        let done = |status: &ContainerStatus| {
            if is_sidecar(container) { status.started == Some(true) } else { status.ready }
        };
        match status {
            None => unknown.push(container.name.as_str()),
            Some(status) if !done(status) => incomplete.push(container.name.as_str()),
            Some(_) => {}
        }
    }
    if phase == Phase::Succeeded && unknown.is_empty() {
        return Finding::because(true, POD_COMPLETED, None);
    }
    let app_started = app_containers(pod).iter().any(|container| {
        let status = statuses.iter().find(|status| status.name == container.name);
        status.is_some_and(|status| is_running(status) || terminated_state(status).is_some())
    });
    // A pod that was initialized stays so, also while all its containers starts over.
    let was_initialized = input.previous.and_then(|previous| find(previous, INITIALIZED));
    let stays = app_started || was_initialized.is_some_and(|condition| condition.status == "True");
    match listed([("unknown", unknown), ("incomplete", incomplete)]) {
        Some(message) if !stays => Finding::because(false, CONTAINERS_NOT_INITIALIZED, Some(message)),
        Some(_) | None => Finding::plain(true),
    }
}

fn all_restarting(input: ConditionInput<'_>) -> Finding {
    match ended(input.phase) {
        Some(ended) => ended,
        None if input.restarting_all => {
            let message = "container exited with restart policy rule".to_owned();
            Finding::because(true, RESTART_ALL_STARTED, Some(message))
        }
        None => Finding::plain(false),
    }
}

/// Upstream's sentence about containers of which something isn't as it should be; none if there are no such.
fn listed(lists: [(&str, Vec<&str>); 2]) -> Option<String> {
    let parts: Vec<String> = lists
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("containers with {what} status: [{}]", names.join(" ")))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests;

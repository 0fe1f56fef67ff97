//! The states of a pod's containers: the kubelet's `convertToAPIContainerStatuses`.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::restart_all::{self, RESTARTING_ALL_CONTAINERS};
use super::waiting::{Waiting, WaitingReason};
use super::{StatusInput, readiness, resources, termination_message};
use crate::container::plan::{
    ContainerKind, PodContainer, app_containers, containers, is_made_up, should_start,
};
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod};

/// Reason of a termination that no one saw.
pub(super) const CONTAINER_STATUS_UNKNOWN: &str = "ContainerStatusUnknown";
/// Exit code of a termination that no one saw: as if killed by signal 9.
pub(super) const EXIT_CODE_UNKNOWN: i32 = 137;

const LOST: &str = "The container could not be located when the pod was terminated";
const VANISHED: &str =
    "The container could not be located when the pod was deleted.  The container used to be Running";
const REMOVED: &str = "The container was removed: all containers of the pod restart";
const INIT_FORGOTTEN: &str = "Unable to get init container status from container runtime and pod has been initialized, \
                              treat it as exited normally";

/// One status for each container of the spec.
pub(super) struct Statuses {
    /// In the order of the spec.
    pub(super) init: Vec<ContainerStatus>,
    /// Ordered by name, as upstream's are.
    pub(super) app: Vec<ContainerStatus>,
    /// Ordered by name.
    pub(super) ephemeral: Vec<ContainerStatus>,
}

impl Statuses {
    /// Returns those that phase and conditions follow from: init and app containers.
    pub(super) fn deciding(&self) -> Vec<&ContainerStatus> {
        self.init.iter().chain(&self.app).collect()
    }
}

/// What is known next to one container while its status is made.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) input: StatusInput<'a>,
    pub(super) kind: ContainerKind,
    pub(super) container: &'a Container,
    /// Its status in the pod's previous one.
    pub(super) before: Option<&'a ContainerStatus>,
    /// All containers are being restarted.
    restarting_all: bool,
}

/// The statuses of all containers.
pub(super) fn statuses(input: StatusInput<'_>) -> Statuses {
    let restarting_all = restart_all::explains_removal(input.pod, input.observed, input.previous);
    let mut statuses = Statuses { init: Vec::new(), app: Vec::new(), ephemeral: Vec::new() };
    for PodContainer { kind, container, .. } in containers(input.pod) {
        let list = match kind {
            ContainerKind::Init | ContainerKind::Sidecar => &mut statuses.init,
            ContainerKind::App => &mut statuses.app,
            ContainerKind::Ephemeral => &mut statuses.ephemeral,
        };
        let before = input.previous.and_then(|previous| status_before(previous, kind, &container.name));
        list.push(of_container(Context { input, kind, container: &container, before, restarting_all }));
    }
    statuses.app.sort_by(|a, b| a.name.cmp(&b.name));
    statuses.ephemeral.sort_by(|a, b| a.name.cmp(&b.name));
    statuses
}

fn status_before<'a>(
    previous: &'a PodStatus,
    kind: ContainerKind,
    name: &str,
) -> Option<&'a ContainerStatus> {
    let list = match kind {
        ContainerKind::Init | ContainerKind::Sidecar => &previous.init_container_statuses,
        ContainerKind::App => &previous.container_statuses,
        ContainerKind::Ephemeral => &previous.ephemeral_container_statuses,
    };
    list.iter().flatten().find(|status| status.name == name)
}

/// A status that says nothing but that the container waits.
pub(super) fn waiting_status(container: &Container, waiting: &Waiting) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: Some(waiting.state()),
        last_state: Some(ContainerState::default()),
        started: Some(false),
        ..ContainerStatus::default()
    }
}

/// The state of a container that ended unobserved.
pub(super) fn lost_state(message: &str) -> ContainerState {
    ended(CONTAINER_STATUS_UNKNOWN, message, EXIT_CODE_UNKNOWN)
}

/// The same, at the end of the pod.
pub(super) fn lost_with_pod() -> ContainerState {
    lost_state(LOST)
}

/// The end that a status reports.
pub(super) fn terminated_state(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref().and_then(|state| state.terminated.as_ref())
}

/// The end before that.
pub(super) fn last_terminated_state(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.last_state.as_ref().and_then(|state| state.terminated.as_ref())
}

pub(super) fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

pub(super) fn is_waiting(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.waiting.is_some())
}

fn of_container(context: Context<'_>) -> ContainerStatus {
    let Context { input, container, .. } = context;
    let mut instances = input.observed.containers.iter().filter(|instance| instance.name == container.name);
    let newest = instances.next();
    let mut status = match newest {
        Some(newest) => of_instances(context, newest, instances.next()),
        None => of_absent(context),
    };
    status.volume_mounts = resources::volume_mounts(container, input.recursive_read_only);
    if let Some(state) = forgotten_init(context, newest, &status) {
        status.state = Some(state);
    } else if let Some(waiting) = input.waiting.get(&container.name)
        && is_to_start(context, newest)
    {
        if terminated_state(&status).is_some() {
            status.last_state = status.state.take();
        }
        status.state = Some(waiting.state());
    }
    readiness::set(&mut status, context, newest);
    status
}

/// The runtime has the container: its newest instance says how it is, the one before how it last ended.
fn of_instances(
    context: Context<'_>,
    newest: &ObservedContainer,
    older: Option<&ObservedContainer>,
) -> ContainerStatus {
    let Context { input, container, before, .. } = context;
    let id = full_id(input.runtime_name, newest);
    let older = older.and_then(|older| exited_state(input, older));
    let image =
        if newest.image.is_empty() { container.image.as_deref() } else { Some(newest.image.as_str()) };
    let state = state_of(context, newest, &id);
    let allocated = container.resources.as_ref();
    let mut status = ContainerStatus {
        name: container.name.clone(),
        image: image.unwrap_or_default().to_owned(),
        image_id: newest.image_id.clone(),
        restart_count: i32::try_from(newest.restart_count).unwrap_or(i32::MAX),
        state: Some(state),
        last_state: older
            .or_else(|| removed_unseen(context, &id))
            .or_else(|| remembered(before, &id))
            .or_else(|| Some(ContainerState::default())),
        resources: Some(resources::in_force(context, newest, &id)),
        allocated_resources: allocated.and_then(|allocated| allocated.requests.clone()),
        user: newest.user.as_ref().map(resources::user),
        stop_signal: newest.stop_signal.clone(),
        container_id: Some(id),
        ..ContainerStatus::default()
    };
    status.restart_count = restart_count(&status, newest, before);
    status
}

/// The end of an instance that was stopped and removed, since all containers restart, before anyone saw it end.
fn removed_unseen(context: Context<'_>, id: &str) -> Option<ContainerState> {
    let before =
        context.before.filter(|before| is_running(before) && before.container_id.as_deref() != Some(id))?;
    let is_restarted = before.container_id.is_some() && restart_all::is_possible(context.input.pod);
    is_restarted.then(|| ended(RESTARTING_ALL_CONTAINERS, REMOVED, EXIT_CODE_UNKNOWN))
}

/// The end of an instance that the runtime doesn't have any more.
fn remembered(before: Option<&ContainerStatus>, id: &str) -> Option<ContainerState> {
    let before = before?;
    let other = before.container_id.as_deref() != Some(id);
    match terminated_state(before) {
        Some(_) if other => before.state.clone(),
        _ => last_terminated_state(before).and(before.last_state.clone()),
    }
}

/// Returns what the runtime says, unless it has forgotten instances that were counted before.
fn restart_count(
    status: &ContainerStatus,
    newest: &ObservedContainer,
    before: Option<&ContainerStatus>,
) -> i32 {
    let Some(before) = before else { return status.restart_count };
    let was_lost = newest.state == ContainerRunState::Unknown && is_running(before);
    // The end of one that was lost has been counted on already.
    let runs_again = is_running(status)
        && terminated_state(before).is_some_and(|end| !is_made_up(end))
        && status.container_id != before.container_id
        && before.restart_count >= status.restart_count;
    if was_lost || runs_again {
        before.restart_count.saturating_add(1)
    } else {
        status.restart_count.max(before.restart_count)
    }
}

/// The runtime has nothing of the container: it was never made, or all its instances were removed.
fn of_absent(context: Context<'_>) -> ContainerStatus {
    let Context { input, container, before, restarting_all, .. } = context;
    let mut status = waiting_status(container, &Waiting::untouched(input.pod));
    let Some(before) = before else {
        return status;
    };
    if restarting_all && !is_waiting(before) {
        let waiting = Waiting { reason: WaitingReason::RestartingAllContainers, message: REMOVED.to_owned() };
        return ContainerStatus {
            state: Some(waiting.state()),
            last_state: Some(ended(RESTARTING_ALL_CONTAINERS, REMOVED, EXIT_CODE_UNKNOWN)),
            restart_count: before.restart_count.saturating_add(1),
            ..status
        };
    }
    if terminated_state(before).is_some() {
        return before.clone();
    }
    status.restart_count = before.restart_count;
    status.last_state = before.last_state.clone();
    if is_running(before) && last_terminated_state(before).is_none() {
        // It ran, so it must have ended: to call it waiting alone would make the pod look as if it had never run.
        status.last_state = Some(lost_state(VANISHED));
        if input.pod.metadata.deletion_timestamp.is_none() {
            status.restart_count = status.restart_count.saturating_add(1);
        }
    }
    status
}

/// An init container of which nothing is left, in a pod that is past it: it must have completed. Its status may never have
/// been reported to a component that remembers it, such as that of a static pod's over a restart of the agent.
fn forgotten_init(
    context: Context<'_>,
    newest: Option<&ObservedContainer>,
    status: &ContainerStatus,
) -> Option<ContainerState> {
    let past = context.kind == ContainerKind::Init
        && newest.is_none()
        && is_waiting(status)
        && any_app_container_made(context.input.pod, context.input.observed);
    past.then(|| ended("Completed", INIT_FORGOTTEN, 0))
}

/// Whether any app container was made, so that the init containers were once done.
fn any_app_container_made(pod: &Pod, observed: &ObservedPod) -> bool {
    app_containers(pod).iter().any(|container| {
        observed.container(&container.name).is_some_and(|newest| match newest.state {
            ContainerRunState::Created | ContainerRunState::Running | ContainerRunState::Exited => true,
            ContainerRunState::Unknown => false,
        })
    })
}

/// Whether the container doesn't run and the next sync starts it. An init container that is done isn't started again,
/// whatever its policy.
fn is_to_start(context: Context<'_>, newest: Option<&ObservedContainer>) -> bool {
    let Context { input, kind, container, .. } = context;
    let done =
        newest.is_some_and(|newest| newest.state == ContainerRunState::Exited && newest.exit_code == 0);
    !(kind == ContainerKind::Init && done) && should_start(input.pod, &container.name, input.observed)
}

fn state_of(context: Context<'_>, container: &ObservedContainer, id: &str) -> ContainerState {
    let before = context.before;
    match container.state {
        ContainerRunState::Running => ContainerState {
            running: Some(ContainerStateRunning { started_at: container.started_at.map(Time) }),
            ..ContainerState::default()
        },
        ContainerRunState::Exited => exited_state(context.input, container).unwrap_or_default(),
        ContainerRunState::Unknown if before.is_some_and(is_running) => {
            let reason =
                if context.restarting_all { RESTARTING_ALL_CONTAINERS } else { CONTAINER_STATUS_UNKNOWN };
            ended(reason, LOST, EXIT_CODE_UNKNOWN)
        }
        ContainerRunState::Unknown => {
            // An end that was reported stays reported while no one knows better.
            let same = before.filter(|before| before.container_id.as_deref() == Some(id));
            let reported = same.filter(|before| terminated_state(before).is_some());
            reported.and_then(|before| before.state.clone()).unwrap_or_else(waits)
        }
        ContainerRunState::Created => waits(),
    }
}

/// Waits, and no one says why.
fn waits() -> ContainerState {
    ContainerState { waiting: Some(ContainerStateWaiting::default()), ..ContainerState::default() }
}

/// Returns `None` for a container that hasn't exited.
fn exited_state(input: StatusInput<'_>, container: &ObservedContainer) -> Option<ContainerState> {
    let message = || {
        let bytes_max = termination_message::share_bytes(input.pod);
        termination_message::combined(&container.message, container.termination_message.as_deref(), bytes_max)
    };
    let terminated = match container.state {
        ContainerRunState::Exited => ContainerStateTerminated {
            container_id: Some(full_id(input.runtime_name, container)),
            exit_code: container.exit_code,
            finished_at: container.finished_at.map(Time),
            message: message(),
            reason: Some(container.reason.clone()).filter(|reason| !reason.is_empty()),
            signal: None,
            started_at: container.started_at.map(Time),
        },
        ContainerRunState::Created | ContainerRunState::Running | ContainerRunState::Unknown => return None,
    };
    Some(ContainerState { terminated: Some(terminated), ..ContainerState::default() })
}

fn ended(reason: &str, message: &str, exit_code: i32) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            exit_code,
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn full_id(runtime_name: &str, container: &ObservedContainer) -> String {
    format!("{runtime_name}://{}", container.id)
}

#[cfg(test)]
mod tests;

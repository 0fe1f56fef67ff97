//! The phase of a pod: the kubelet's `getPhase`.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus,
};

use super::restart_all::RESTARTING_ALL_CONTAINERS;
use crate::container::plan::{app_containers, init_containers, should_restart};
use crate::pod::resources::is_sidecar;
use crate::pod::static_pod::is_static;

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not all containers were started.
    Pending,
    /// All were, and at least one runs or will run again.
    Running,
    /// All ended with exit code 0 for good.
    Succeeded,
    /// All ended for good, at least one in failure; or the node refused the pod.
    Failed,
}

impl Phase {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    /// The phase that a status has. None if it has none, or one that isn't used any more (`Unknown`).
    pub fn of(status: &PodStatus) -> Option<Self> {
        let all = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];
        all.into_iter().find(|phase| status.phase.as_deref() == Some(phase.as_str()))
    }

    /// Whether nothing comes after it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Pending | Self::Running => false,
        }
    }
}

/// The facts that a phase follows from.
#[derive(Clone, Copy)]
pub(super) struct PhaseInput<'a> {
    pub(super) pod: &'a Pod,
    /// Statuses of init and app containers.
    pub(super) statuses: &'a [&'a ContainerStatus],
    /// No container will be started any more, whatever the restart policy.
    pub(super) ends: bool,
    /// An app container was made in the sandbox that the pod has now, so its init containers are behind it.
    pub(super) has_initialized: bool,
}

/// How the init containers without those that stay (sidecars) are doing.
#[derive(Default)]
struct InitTally {
    pending: usize,
    failed_for_good: usize,
}

/// How many app containers and sidecars are in which state.
#[derive(Default)]
struct Tally {
    unknown: usize,
    waiting: usize,
    running: usize,
    /// App containers that ended.
    stopped: usize,
    /// Those of them that won't be started again.
    stopped_for_good: usize,
    succeeded: usize,
    /// Sidecars that haven't started; a restart of one that had doesn't set the pod back.
    sidecars_pending: usize,
}

/// Static pods take no terminal phase from `ends` (upstream, kubernetes#116484): their containers are restarted when they
/// come back.
pub(super) fn of_containers(input: PhaseInput<'_>) -> Phase {
    let PhaseInput { pod, ends, has_initialized, .. } = input;
    let init = init_tally(input);
    let tally = tally(input);
    let all_stopped = tally.running == 0 && tally.stopped > 0 && tally.unknown == 0;
    let all_succeeded = tally.stopped == tally.succeeded;
    if init.failed_for_good > 0 {
        Phase::Failed
    } else if init.pending > 0 || (tally.sidecars_pending > 0 && !has_initialized) || tally.waiting > 0 {
        Phase::Pending
    } else if tally.running > 0 && tally.unknown == 0 {
        Phase::Running
    } else if !all_stopped {
        Phase::Pending
    } else if tally.stopped > tally.stopped_for_good && (!ends || is_static(pod)) {
        Phase::Running
    } else if all_succeeded {
        Phase::Succeeded
    } else {
        Phase::Failed
    }
}

fn init_tally(input: PhaseInput<'_>) -> InitTally {
    let mut tally = InitTally::default();
    for container in init_containers(input.pod).iter().filter(|container| !is_sidecar(container)) {
        match progress(input, container) {
            ContainerProgress::Running | ContainerProgress::Waiting | ContainerProgress::Unknown => {
                tally.pending += 1
            }
            ContainerProgress::Ended(ended) | ContainerProgress::Restarts(ended) => {
                let failed = ended.exit_code != 0 && !restarts(input.pod, container, ended);
                tally.failed_for_good += usize::from(failed);
            }
        }
    }
    tally
}

fn tally(input: PhaseInput<'_>) -> Tally {
    let mut tally = Tally::default();
    for sidecar in init_containers(input.pod).iter().filter(|container| is_sidecar(container)) {
        let status = status_of(input, sidecar);
        match progress(input, sidecar) {
            ContainerProgress::Running => {
                tally.running += 1;
                let started = status.is_some_and(|status| status.started == Some(true));
                tally.sidecars_pending += usize::from(!started);
            }
            // The end of a sidecar says nothing about its pod.
            ContainerProgress::Ended(_) | ContainerProgress::Restarts(_) => {}
            ContainerProgress::Waiting => {
                tally.waiting += 1;
                tally.sidecars_pending += 1;
            }
            ContainerProgress::Unknown => {
                tally.unknown += 1;
                tally.sidecars_pending += usize::from(status.is_some());
            }
        }
    }
    for container in app_containers(input.pod) {
        match progress(input, container) {
            ContainerProgress::Running => tally.running += 1,
            ContainerProgress::Ended(ended) => {
                tally.stopped += 1;
                tally.stopped_for_good += usize::from(!restarts(input.pod, container, ended));
                tally.succeeded += usize::from(ended.exit_code == 0);
            }
            ContainerProgress::Restarts(ended) => {
                tally.stopped += 1;
                tally.stopped_for_good += usize::from(!restarts(input.pod, container, ended));
            }
            ContainerProgress::Waiting => tally.waiting += 1,
            ContainerProgress::Unknown => tally.unknown += 1,
        }
    }
    tally
}

/// What a status says of a container, as far as the phase is concerned.
enum ContainerProgress<'a> {
    Running,
    Ended(&'a ContainerStateTerminated),
    /// It ended before and waits for its next start.
    Restarts(&'a ContainerStateTerminated),
    /// It waits for its first start.
    Waiting,
    Unknown,
}

fn status_of<'a>(input: PhaseInput<'a>, container: &Container) -> Option<&'a ContainerStatus> {
    input.statuses.iter().copied().find(|status| status.name == container.name)
}

fn progress<'a>(input: PhaseInput<'a>, container: &Container) -> ContainerProgress<'a> {
    let Some(status) = status_of(input, container) else { return ContainerProgress::Unknown };
    let Some(state) = &status.state else { return ContainerProgress::Unknown };
    let ended =
        |state: &'a Option<ContainerState>| state.as_ref().and_then(|state| state.terminated.as_ref());
    if state.running.is_some() {
        ContainerProgress::Running
    } else if let Some(ended) = &state.terminated {
        ContainerProgress::Ended(ended)
    } else if state.waiting.is_some() {
        ended(&status.last_state).map_or(ContainerProgress::Waiting, ContainerProgress::Restarts)
    } else {
        ContainerProgress::Unknown
    }
}

/// Whether a container that ended like this is started again: by its own rules or its pod's policy, or since all of its
/// pod is.
fn restarts(pod: &Pod, container: &Container, ended: &ContainerStateTerminated) -> bool {
    ended.reason.as_deref() == Some(RESTARTING_ALL_CONTAINERS)
        || should_restart(pod, container, ended.exit_code)
}

#[cfg(test)]
mod tests;

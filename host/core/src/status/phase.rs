//! The phase of a pod: the kubelet's `getPhase`, as far as app containers go.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

use crate::container::plan::{RestartPolicy, app_containers};
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

/// How many containers are in which state.
#[derive(Default)]
struct Tally {
    unknown: usize,
    waiting: usize,
    running: usize,
    stopped: usize,
    succeeded: usize,
}

/// `ends` says that no container will be started any more, whatever the restart policy. Static pods take no terminal
/// phase by that (upstream, kubernetes#116484): their containers are restarted when they come back.
pub(super) fn of_containers(pod: &Pod, statuses: &[ContainerStatus], ends: bool) -> Phase {
    let tally = tally(pod, statuses);
    let all_stopped = tally.running == 0 && tally.stopped > 0 && tally.unknown == 0;
    let all_succeeded = tally.stopped == tally.succeeded;
    if tally.waiting > 0 {
        Phase::Pending
    } else if tally.running > 0 && tally.unknown == 0 {
        Phase::Running
    } else if !all_stopped {
        Phase::Pending
    } else if ends && !is_static(pod) {
        if all_succeeded { Phase::Succeeded } else { Phase::Failed }
    } else {
        match RestartPolicy::of(pod) {
            RestartPolicy::Always => Phase::Running,
            RestartPolicy::OnFailure | RestartPolicy::Never if all_succeeded => Phase::Succeeded,
            RestartPolicy::Never => Phase::Failed,
            RestartPolicy::OnFailure => Phase::Running,
        }
    }
}

fn tally(pod: &Pod, statuses: &[ContainerStatus]) -> Tally {
    let mut tally = Tally::default();
    for container in app_containers(pod) {
        let status = statuses.iter().find(|status| status.name == container.name);
        let state = status.and_then(|status| status.state.as_ref());
        let ended_before = status
            .and_then(|status| status.last_state.as_ref())
            .is_some_and(|last| last.terminated.is_some());
        let Some(state) = state else {
            tally.unknown += 1;
            continue;
        };
        if state.running.is_some() {
            tally.running += 1;
        } else if let Some(terminated) = &state.terminated {
            tally.stopped += 1;
            tally.succeeded += usize::from(terminated.exit_code == 0);
        } else if state.waiting.is_some() && ended_before {
            tally.stopped += 1;
        } else if state.waiting.is_some() {
            tally.waiting += 1;
        } else {
            tally.unknown += 1;
        }
    }
    tally
}

#[cfg(test)]
mod tests;

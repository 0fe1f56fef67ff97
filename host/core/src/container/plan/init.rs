//! Init containers and sidecars: which one is next, which ones run again, and when the app containers may start
//! (upstream: `computeInitContainerActions`).
//!
//! What is known of init containers gets lost over time, because the runtime is cleaned up. So the last one that anything is
//! known of says how far the pod came: the frontier. Those before it have done their part.

use k8s_openapi::api::core::v1::{Container, Pod};

use super::actions::Actions;
use super::changed::spec_changed;
use super::input::PlanInput;
use super::kill::kill_one;
use super::resize;
use super::restart::{is_restartable, should_restart};
use super::sandbox::counts_in;
use super::spec::{ContainerKind, app_containers, init_containers, kind_of_init};
use super::step::{KillReason, RemoveContainer, RemoveContainers, RemoveReason, Step};
use crate::probe::ProbeResult;
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod, SandboxId};

/// How far a pod's init containers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Init {
    /// One failed, and may not run again: the pod has failed.
    Failed,
    /// Not all have done their part.
    Running,
    /// App containers may start.
    Done,
}

/// What a container at the frontier has come to.
enum Frontier {
    Failed,
    Waiting,
    Passed,
}

/// Checks each init container and sidecar once.
pub(super) fn decide(input: PlanInput<'_>, sandbox: &SandboxId, actions: &mut Actions) -> Init {
    let PlanInput { pod, observed, .. } = input;
    let init = init_containers(pod);
    let newest = |container: &Container| {
        observed.container(&container.name).filter(|newest| counts_in(newest, sandbox))
    };
    // An ended app container says nothing: it may be of an earlier sandbox.
    let initialised = app_containers(pod).iter().filter_map(newest).any(|app| match app.state {
        ContainerRunState::Created | ContainerRunState::Running => true,
        ContainerRunState::Exited | ContainerRunState::Unknown => false,
    });
    if init.is_empty() {
        return Init::Done;
    }
    let frontier = if initialised {
        init.len()
    } else {
        match init.iter().rposition(|container| newest(container).is_some()) {
            Some(frontier) => frontier,
            None => {
                actions.init.push(0);
                return Init::Running;
            }
        }
    };
    for (index, container) in init.iter().enumerate().take(frontier) {
        if kind_of_init(container) == ContainerKind::Sidecar {
            match newest(container) {
                Some(newest) => {
                    decide_sidecar(input, index, container, newest, actions);
                }
                None => actions.init.push(index),
            }
        }
    }
    let Some((container, newest)) = init.get(frontier).and_then(|c| Some((c, newest(c)?))) else {
        return Init::Done;
    };
    let came_to = match kind_of_init(container) {
        ContainerKind::Sidecar => decide_sidecar(input, frontier, container, newest, actions),
        ContainerKind::Init | ContainerKind::App | ContainerKind::Ephemeral => {
            decide_init(input, frontier, container, newest, actions)
        }
    };
    match came_to {
        Frontier::Failed => Init::Failed,
        Frontier::Waiting => Init::Running,
        Frontier::Passed if frontier + 1 == init.len() => Init::Done,
        Frontier::Passed => {
            actions.init.push(frontier + 1);
            Init::Running
        }
    }
}

fn decide_init(
    input: PlanInput<'_>,
    index: usize,
    container: &Container,
    newest: &ObservedContainer,
    actions: &mut Actions,
) -> Frontier {
    let pod = input.pod;
    match newest.state {
        ContainerRunState::Running => Frontier::Waiting,
        // It was to be started with being made: the runtime could not.
        ContainerRunState::Created => {
            actions.init.push(index);
            Frontier::Waiting
        }
        ContainerRunState::Exited if newest.exit_code == 0 => Frontier::Passed,
        ContainerRunState::Exited if should_restart(pod, container, newest.exit_code) => {
            actions.init.push(index);
            Frontier::Waiting
        }
        ContainerRunState::Unknown if is_restartable(pod, container) => {
            let reason = KillReason::Unknown;
            actions.kills.push(kill_one(pod, ContainerKind::Init, container, &newest.id, reason, true));
            actions.init.push(index);
            Frontier::Waiting
        }
        ContainerRunState::Exited | ContainerRunState::Unknown => Frontier::Failed,
    }
}

/// A sidecar is kept running whatever the pod's policy. It has done its part once it has started.
fn decide_sidecar(
    input: PlanInput<'_>,
    index: usize,
    container: &Container,
    newest: &ObservedContainer,
    actions: &mut Actions,
) -> Frontier {
    let pod = input.pod;
    let probes = input.probes_of(&newest.id);
    let (reason, came_to) = match newest.state {
        ContainerRunState::Created | ContainerRunState::Exited => {
            actions.init.push(index);
            return Frontier::Waiting;
        }
        ContainerRunState::Unknown => (KillReason::Unknown, Frontier::Waiting),
        ContainerRunState::Running if spec_changed(container, newest) => {
            (KillReason::SpecChanged, Frontier::Waiting)
        }
        ContainerRunState::Running
            if container.startup_probe.is_some() && probes.startup == Some(ProbeResult::Failure) =>
        {
            (KillReason::StartupProbe, Frontier::Waiting)
        }
        ContainerRunState::Running
            if container.startup_probe.is_some() && probes.startup != Some(ProbeResult::Success) =>
        {
            return Frontier::Waiting;
        }
        // Whether it lives doesn't keep the next one from starting.
        ContainerRunState::Running
            if container.liveness_probe.is_some() && probes.liveness == Some(ProbeResult::Failure) =>
        {
            (KillReason::LivenessProbe, Frontier::Passed)
        }
        ContainerRunState::Running => {
            let change =
                resize::decide(input, ContainerKind::Sidecar, container, newest, &mut actions.resize);
            let Some(reason) = change else { return Frontier::Passed };
            (reason, Frontier::Passed)
        }
    };
    actions.kills.push(kill_one(pod, ContainerKind::Sidecar, container, &newest.id, reason, true));
    actions.init.push(index);
    came_to
}

/// Removes all instances of init containers: a new sandbox begins with the first one.
pub(super) fn purge(pod: &Pod, observed: &ObservedPod) -> Option<Step> {
    let init = init_containers(pod);
    let of_init = observed.containers.iter().filter(|c| init.iter().any(|init| init.name == c.name));
    remove(RemoveReason::NewSandbox, of_init)
}

/// Removes all ended instances of each init container but the last.
pub(super) fn prune(pod: &Pod, observed: &ObservedPod) -> Option<Step> {
    let superfluous = init_containers(pod).iter().flat_map(|init| {
        let ended = observed
            .containers
            .iter()
            .filter(|c| c.name == init.name && c.state == ContainerRunState::Exited);
        ended.skip(1)
    });
    remove(RemoveReason::Pruned, superfluous)
}

fn remove<'a>(reason: RemoveReason, ended: impl Iterator<Item = &'a ObservedContainer>) -> Option<Step> {
    let containers: Vec<RemoveContainer> = ended
        .map(|container| RemoveContainer { id: container.id.clone(), name: container.name.clone() })
        .collect();
    let crashes = Vec::new();
    (!containers.is_empty()).then_some(Step::RemoveContainers(RemoveContainers {
        reason,
        containers,
        crashes,
    }))
}

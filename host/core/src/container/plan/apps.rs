//! Which app containers are kept, killed and started.

use k8s_openapi::api::core::v1::{Container, Pod};

use super::actions::Actions;
use super::changed::spec_changed;
use super::input::PlanInput;
use super::kill::kill_one;
use super::resize;
use super::restart::{RestartPolicy, is_restartable, runs_again, should_restart};
use super::spec::{ContainerKind, app_containers, containers};
use super::step::KillReason;
use crate::probe::ProbeResult;
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod};

/// Returns what a new sandbox starts: everything, except what ended and needn't run again. Nothing if the pod runs once and did.
pub(super) fn in_new_sandbox(pod: &Pod, observed: &ObservedPod, attempt: u32) -> Vec<usize> {
    // A pod of which nothing may restart gets its sandbox once; unless no container ever came to be in it, for then it
    // failed half-way.
    if runs_once(pod) && attempt != 0 && !observed.containers.is_empty() {
        return Vec::new();
    }
    let apps = app_containers(pod).iter().enumerate();
    apps.filter(|(_, container)| begins_again(pod, container, observed)).map(|(index, _)| index).collect()
}

/// Whether no container of the pod restarts, whatever its end. Sidecars don't count: they serve the others.
fn runs_once(pod: &Pod) -> bool {
    containers(pod).all(|found| match found.kind {
        ContainerKind::Init | ContainerKind::App => !is_restartable(pod, &found.container),
        ContainerKind::Sidecar | ContainerKind::Ephemeral => true,
    })
}

/// A container that ended and doesn't restart stays ended. Under the pod's own `Never` this is a matter of the whole pod.
fn begins_again(pod: &Pod, container: &Container, observed: &ObservedPod) -> bool {
    let Some(newest) = observed.container(&container.name) else { return true };
    if runs_once(pod) {
        return true;
    }
    match newest.state {
        ContainerRunState::Created => true,
        ContainerRunState::Running | ContainerRunState::Unknown => is_restartable(pod, container),
        ContainerRunState::Exited => should_restart(pod, container, newest.exit_code),
    }
}

/// Checks each app container once. Says whether anything of the pod goes on.
pub(super) fn decide(input: PlanInput<'_>, actions: &mut Actions) -> bool {
    let PlanInput { pod, observed, .. } = input;
    let mut kept = false;
    for (index, container) in app_containers(pod).iter().enumerate() {
        let newest = observed.container(&container.name);
        let Some(running) = newest.filter(|newest| newest.state == ContainerRunState::Running) else {
            if !input.is_deleted() && newest.is_none_or(|newest| runs_again(pod, container, newest)) {
                actions.apps.push(index);
                let unknown = newest.filter(|newest| newest.state == ContainerRunState::Unknown);
                actions.kills.extend(unknown.map(|unknown| {
                    kill_one(pod, ContainerKind::App, container, &unknown.id, KillReason::Unknown, true)
                }));
            }
            continue;
        };
        let Some(reason) = reason_to_kill(input, container, running, &mut actions.resize) else {
            kept = true;
            continue;
        };
        let restart = !input.is_deleted()
            && match reason {
                KillReason::SpecChanged | KillReason::Resize => true,
                // Which rule its exit code matches is known only once it has ended.
                KillReason::LivenessProbe
                | KillReason::StartupProbe
                | KillReason::PodEnds
                | KillReason::SandboxChanged
                | KillReason::NotInSpec
                | KillReason::Superseded
                | KillReason::Unknown
                | KillReason::RestartAll => {
                    RestartPolicy::of_container(pod, container) != RestartPolicy::Never
                }
            };
        if restart {
            actions.apps.push(index);
        }
        actions.kills.push(kill_one(pod, ContainerKind::App, container, &running.id, reason, restart));
    }
    kept || !actions.apps.is_empty()
}

/// Why a running container can't stay. One that can, but with other resources, is noted among the changes.
fn reason_to_kill(
    input: PlanInput<'_>,
    container: &Container,
    running: &ObservedContainer,
    changes: &mut resize::Changes,
) -> Option<KillReason> {
    if spec_changed(container, running) {
        return Some(KillReason::SpecChanged);
    }
    let probes = input.probes_of(&running.id);
    if probes.liveness == Some(ProbeResult::Failure) {
        return Some(KillReason::LivenessProbe);
    }
    if probes.startup == Some(ProbeResult::Failure) {
        return Some(KillReason::StartupProbe);
    }
    resize::decide(input, ContainerKind::App, container, running, changes)
}

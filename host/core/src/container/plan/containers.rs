//! Which containers are kept, killed and started.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::{Crash, KillContainer, KillReason, PlanInput, StartContainer, Step, app_containers};
use crate::container::backoff::BackoffKey;
use crate::container::hash::container_hash;
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod};

/// What is done when a container ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RestartPolicy {
    /// Restart it.
    Always,
    /// Restart it unless it ended with exit code 0.
    OnFailure,
    /// Leave it.
    Never,
}

impl RestartPolicy {
    /// A pod's policy. Anything that the API doesn't know counts as `Always`, the API's default: validation refuses
    /// it before it comes here.
    pub fn of(pod: &Pod) -> Self {
        match pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) {
            Some("OnFailure") => Self::OnFailure,
            Some("Never") => Self::Never,
            Some(_) | None => Self::Always,
        }
    }
}

/// Which probe a running container failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeFailure {
    /// The liveness probe.
    Liveness,
    /// The startup probe.
    Startup,
}

/// What becomes of a pod's containers in a sandbox that stays.
pub(super) struct Choice {
    pub(super) kept: usize,
    pub(super) kills: Vec<KillContainer>,
    /// Indices into `spec.containers`.
    pub(super) starts: Vec<usize>,
}

/// Whether the restart policy has a container that doesn't run started: upstream's `ShouldContainerBeRestarted`.
pub fn should_start(pod: &Pod, name: &str, observed: &ObservedPod) -> bool {
    if pod.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let Some(newest) = observed.container(name) else {
        return true;
    };
    match newest.state {
        ContainerRunState::Running => false,
        ContainerRunState::Created | ContainerRunState::Unknown => true,
        ContainerRunState::Exited => match RestartPolicy::of(pod) {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => newest.exit_code != 0,
            RestartPolicy::Never => false,
        },
    }
}

/// A new sandbox starts everything again, except what ended well and needn't run twice.
pub(super) fn to_start_in_new_sandbox(
    pod: &Pod,
    observed: &ObservedPod,
    policy: RestartPolicy,
) -> Vec<usize> {
    let ended_well = |container: &Container| {
        observed
            .container(&container.name)
            .is_some_and(|newest| newest.state == ContainerRunState::Exited && newest.exit_code == 0)
    };
    let containers = app_containers(pod).iter().enumerate();
    containers
        .filter(|(_, container)| match policy {
            RestartPolicy::OnFailure => !ended_well(container),
            RestartPolicy::Always | RestartPolicy::Never => true,
        })
        .map(|(index, _)| index)
        .collect()
}

/// Looks at each container once.
pub(super) fn choose(input: PlanInput<'_>) -> Choice {
    let PlanInput { pod, observed, .. } = input;
    let mut choice = Choice { kept: 0, kills: stray(pod, observed), starts: Vec::new() };
    for (index, container) in app_containers(pod).iter().enumerate() {
        let newest = observed.container(&container.name);
        let running = newest.filter(|newest| newest.state == ContainerRunState::Running);
        let Some(running) = running else {
            if should_start(pod, &container.name, observed) {
                choice.starts.push(index);
                let unknown = newest.filter(|newest| newest.state == ContainerRunState::Unknown);
                choice.kills.extend(unknown.map(|unknown| kill_unknown(pod, container, unknown)));
            }
            continue;
        };
        let Some(reason) = reason_to_kill(input, container, running) else {
            choice.kept += 1;
            continue;
        };
        let restart = reason == KillReason::SpecChanged || RestartPolicy::of(pod) != RestartPolicy::Never;
        let restart = restart && pod.metadata.deletion_timestamp.is_none();
        if restart {
            choice.starts.push(index);
        }
        choice.kills.push(KillContainer {
            id: running.id.clone(),
            name: container.name.clone(),
            grace_seconds: grace_seconds(pod, container, reason),
            reason,
            message: kill_message(&container.name, reason, restart),
        });
    }
    choice
}

/// The step that starts a container, or that says how long it waits. None for an index beyond the spec.
pub(super) fn start(input: PlanInput<'_>, index: usize) -> Option<Step> {
    let PlanInput { pod, observed, backoff, now, .. } = input;
    let container = app_containers(pod).get(index)?;
    let exited =
        observed.containers.iter().find(|c| c.name == container.name && c.state == ContainerRunState::Exited);
    let crash = exited.map(|exited| Crash {
        key: BackoffKey::of(pod, container),
        // A runtime that doesn't know when it ended at least knows when it made it.
        finished_at: exited.finished_at.unwrap_or(exited.created_at),
    });
    let wait = crash.as_ref().and_then(|crash| backoff.wait(&crash.key, crash.finished_at, now));
    if let Some(wait) = wait {
        return Some(Step::WaitBackoff { container: container.name.clone(), wait });
    }
    let restart_count =
        observed.container(&container.name).map_or(0, |previous| previous.restart_count.saturating_add(1));
    Some(Step::StartContainer(StartContainer { index, name: container.name.clone(), restart_count, crash }))
}

fn reason_to_kill(
    input: PlanInput<'_>,
    container: &Container,
    running: &ObservedContainer,
) -> Option<KillReason> {
    // A container without the annotation was made by something else than this agent, which can't know better.
    let changed = running.spec_hash.as_deref().is_some_and(|hash| hash != container_hash(container));
    if changed {
        return Some(KillReason::SpecChanged);
    }
    input.probe_failures.get(&running.id).map(|failure| match failure {
        ProbeFailure::Liveness => KillReason::LivenessProbe,
        ProbeFailure::Startup => KillReason::StartupProbe,
    })
}

/// Running containers that the spec doesn't have, and older instances that still run beside a newer one.
fn stray(pod: &Pod, observed: &ObservedPod) -> Vec<KillContainer> {
    let known = names(pod);
    let mut seen = BTreeSet::new();
    let mut kills = Vec::new();
    for container in &observed.containers {
        let newest = seen.insert(container.name.as_str());
        let (reason, message) = if !known.contains(container.name.as_str()) {
            (KillReason::NotInSpec, format!("Container {} is no longer in the pod's spec", container.name))
        } else if !newest {
            let message = format!("An older instance of container {} still runs", container.name);
            (KillReason::Superseded, message)
        } else {
            continue;
        };
        if container.state.may_run() {
            kills.push(KillContainer {
                id: container.id.clone(),
                name: container.name.clone(),
                grace_seconds: super::grace_seconds(pod),
                reason,
                message,
            });
        }
    }
    kills
}

/// Names of all containers of a pod, whatever their kind.
fn names(pod: &Pod) -> BTreeSet<&str> {
    let Some(spec) = &pod.spec else {
        return BTreeSet::new();
    };
    let init = spec.init_containers.iter().flatten().map(|container| container.name.as_str());
    let ephemeral = spec.ephemeral_containers.iter().flatten().map(|container| container.name.as_str());
    spec.containers.iter().map(|container| container.name.as_str()).chain(init).chain(ephemeral).collect()
}

fn kill_unknown(pod: &Pod, container: &Container, unknown: &ObservedContainer) -> KillContainer {
    KillContainer {
        id: unknown.id.clone(),
        name: container.name.clone(),
        grace_seconds: super::grace_seconds(pod),
        reason: KillReason::Unknown,
        message: format!(
            "Container {} is in an unknown state, stopping it before it is started",
            container.name
        ),
    }
}

fn kill_message(name: &str, reason: KillReason, restart: bool) -> String {
    let what = match reason {
        KillReason::SpecChanged => "definition changed",
        KillReason::LivenessProbe => "failed liveness probe",
        KillReason::StartupProbe => "failed startup probe",
        KillReason::NotInSpec => "is no longer in the pod's spec",
        KillReason::Superseded => "has a newer instance",
        KillReason::Unknown => "is in an unknown state",
        KillReason::PodEnds | KillReason::SandboxChanged => "is stopped with its pod",
    };
    let then = if restart { ", will be restarted" } else { "" };
    format!("Container {name} {what}{then}")
}

/// A probe may grant less time, or more, than the pod does (KEP-2238); a deletion overrides both.
fn grace_seconds(pod: &Pod, container: &Container, reason: KillReason) -> i64 {
    let probe = match reason {
        KillReason::LivenessProbe => container.liveness_probe.as_ref(),
        KillReason::StartupProbe => container.startup_probe.as_ref(),
        KillReason::PodEnds
        | KillReason::SandboxChanged
        | KillReason::SpecChanged
        | KillReason::NotInSpec
        | KillReason::Superseded
        | KillReason::Unknown => None,
    };
    let of_probe = probe.and_then(|probe| probe.termination_grace_period_seconds);
    match (pod.metadata.deletion_grace_period_seconds, of_probe) {
        (None, Some(seconds)) => seconds.max(super::GRACE_SECONDS_MIN),
        (Some(_), _) | (None, None) => super::grace_seconds(pod),
    }
}

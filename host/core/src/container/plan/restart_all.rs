//! All containers of a pod starts over in the same sandbox, since one of them ended in a way that its rules name
//! (KEP-5532).
//!
//! Whether that is under way is seen from the ended container itself: it is the last one to be removed.

use std::collections::{BTreeMap, BTreeSet};

use super::in_sandbox::plan_in_sandbox;
use super::input::PlanInput;
use super::kill::{kill_one, stray};
use super::restart::restart_all_triggers;
use super::spec::{ContainerKind, container_named, containers};
use super::step::{
    Crash, KillContainer, KillReason, Plan, RemoveContainer, RemoveContainers, RemoveReason, Step,
};
use crate::container::backoff::{BackoffKey, Wait};
use crate::runtime::{ContainerId, ObservedPod, SandboxId};

/// Stops what runs, removes all instances and starts from the beginning. The container that ended has its delay first, as
/// with any crash; the others are stopped at once.
pub(super) fn plan(input: PlanInput<'_>, sandbox: SandboxId) -> Plan {
    let mut steps = Vec::new();
    let kills = kills(input);
    if !kills.is_empty() {
        steps.push(Step::KillContainers(kills));
    }
    let waits = waits(input);
    if !waits.is_empty() {
        steps.extend(waits);
        return Plan { sandbox: Some(sandbox), steps, resize_error: None };
    }
    steps.extend(removal(input));
    let (left, restart_counts) = afterwards(input);
    let restarted = PlanInput { observed: &left, restart_counts: &restart_counts, ..input };
    let starts = plan_in_sandbox(restarted, sandbox.clone());
    // What is stray among those left was stopped above.
    steps.extend(starts.steps.into_iter().filter(|step| !matches!(step, Step::KillContainers(_))));
    Plan { sandbox: Some(sandbox), steps, resize_error: starts.resize_error }
}

/// The removal of all instances, if all containers have to starts over: those that say so come last.
pub(super) fn removal(input: PlanInput<'_>) -> Option<Step> {
    let PlanInput { pod, observed, .. } = input;
    let triggers: BTreeSet<&ContainerId> =
        restart_all_triggers(pod, observed).into_iter().map(|container| &container.id).collect();
    if triggers.is_empty() {
        return None;
    }
    let names = names(input);
    let mut all: Vec<_> = observed.containers.iter().filter(|c| names.contains(&c.name)).collect();
    all.sort_by_key(|container| triggers.contains(&container.id));
    let containers =
        all.into_iter().map(|c| RemoveContainer { id: c.id.clone(), name: c.name.clone() }).collect();
    let crashes = crashes(input).into_iter().map(|(_, _, crash)| crash).collect();
    Some(Step::RemoveContainers(RemoveContainers { reason: RemoveReason::RestartAll, containers, crashes }))
}

fn kills(input: PlanInput<'_>) -> Vec<KillContainer> {
    let PlanInput { pod, observed, .. } = input;
    let mut kills = stray(pod, observed);
    for found in containers(pod).filter(|found| found.kind != ContainerKind::Ephemeral) {
        let newest = observed.container(&found.container.name).filter(|newest| newest.state.may_run());
        kills.extend(newest.map(|newest| {
            kill_one(pod, found.kind, &found.container, &newest.id, KillReason::RestartAll, true)
        }));
    }
    kills
}

/// Returns what ended, with its kind, its name and its delay's key.
fn crashes(input: PlanInput<'_>) -> Vec<(ContainerKind, String, Crash)> {
    let PlanInput { pod, observed, .. } = input;
    let triggers = restart_all_triggers(pod, observed).into_iter();
    let crashes = triggers.filter_map(|ended| {
        let found = container_named(pod, &ended.name)?;
        let key = BackoffKey::of(pod, &found.container);
        let finished_at = ended.finished_at.unwrap_or(ended.created_at);
        Some((found.kind, ended.name.clone(), Crash { key, finished_at }))
    });
    crashes.collect()
}

fn waits(input: PlanInput<'_>) -> Vec<Step> {
    let wait =
        |crash: &Crash| -> Option<Wait> { input.backoff.wait(&crash.key, crash.finished_at, input.now) };
    let waits = crashes(input).into_iter().filter_map(|(kind, container, crash)| {
        let wait = wait(&crash)?;
        Some(Step::WaitBackoff { kind, container, wait })
    });
    waits.collect()
}

/// Returns what is left after the removal, and the restart counts of what isn't.
fn afterwards(input: PlanInput<'_>) -> (ObservedPod, BTreeMap<String, u32>) {
    let names = names(input);
    let mut left = input.observed.clone();
    left.containers.retain(|container| !names.contains(&container.name));
    let mut counts = input.restart_counts.clone();
    for container in &input.observed.containers {
        let most = counts.entry(container.name.clone()).or_default();
        *most = (*most).max(container.restart_count);
    }
    (left, counts)
}

/// Containers that starts over: all but ephemeral ones.
fn names(input: PlanInput<'_>) -> BTreeSet<String> {
    let restarted = containers(input.pod).filter(|found| found.kind != ContainerKind::Ephemeral);
    restarted.map(|found| found.container.name.clone()).collect()
}

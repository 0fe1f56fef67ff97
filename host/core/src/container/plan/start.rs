//! Starting one container: with which restart count, or how long it waits.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, PodStatus};

use super::input::PlanInput;
use super::spec::{ContainerKind, container_at, init_containers, kind_of_init};
use super::step::{Crash, StartContainer, Step};
use crate::container::backoff::BackoffKey;
use crate::runtime::ContainerRunState;

/// Reasons of an end that a status makes up for an instance that is gone: no one saw it, or it was removed for all
/// containers to starts over. A status with one counts the restart before it happens.
const MADE_UP_ENDS: [&str; 2] = ["ContainerStatusUnknown", "RestartingAllContainers"];

/// Whether a status made this end up.
pub(crate) fn is_made_up(end: &ContainerStateTerminated) -> bool {
    MADE_UP_ENDS.contains(&end.reason.as_deref().unwrap_or_default())
}

/// The step that starts a container, or that says how long it waits. None for one that the spec doesn't have.
pub(super) fn start(input: PlanInput<'_>, kind: ContainerKind, index: usize) -> Option<Step> {
    let PlanInput { pod, observed, backoff, now, .. } = input;
    let container = container_at(pod, kind, index)?.container;
    let exited =
        observed.containers.iter().find(|c| c.name == container.name && c.state == ContainerRunState::Exited);
    let crash = exited.map(|exited| Crash {
        key: BackoffKey::of(pod, &container),
        // A runtime that doesn't know when it ended at least knows when it made it.
        finished_at: exited.finished_at.unwrap_or(exited.created_at),
    });
    let wait = crash.as_ref().and_then(|crash| backoff.wait(&crash.key, crash.finished_at, now));
    if let Some(wait) = wait {
        return Some(Step::WaitBackoff { kind, container: container.name.clone(), wait });
    }
    let seen = observed.container(&container.name).map(|previous| previous.restart_count);
    let known = input.restart_counts.get(&container.name).copied();
    let restart_count = seen.max(known).map_or(0, |count| count.saturating_add(1));
    Some(Step::StartContainer(StartContainer {
        kind,
        index,
        name: container.name.clone(),
        restart_count,
        crash,
    }))
}

/// The same for a container of `spec.initContainers`.
pub(super) fn start_init(input: PlanInput<'_>, index: usize) -> Option<Step> {
    let kind = kind_of_init(init_containers(input.pod).get(index)?);
    start(input, kind, index)
}

/// Restart counts of the last instances that a pod's status reports, by container name. Containers that never had an
/// instance have none.
pub fn known_restart_counts(status: &PodStatus) -> BTreeMap<String, u32> {
    let lists =
        [&status.init_container_statuses, &status.container_statuses, &status.ephemeral_container_statuses];
    let statuses = lists.into_iter().flat_map(|list| list.iter().flatten());
    statuses.filter_map(|status| Some((status.name.clone(), last_count(status)?))).collect()
}

fn last_count(status: &ContainerStatus) -> Option<u32> {
    let state = status.state.as_ref();
    let last_end = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let count = u32::try_from(status.restart_count).unwrap_or_default();
    if let Some(end) = state.and_then(|state| state.terminated.as_ref()) {
        return Some(if is_made_up(end) { count.saturating_sub(1) } else { count });
    }
    if state.is_some_and(|state| state.running.is_some()) {
        return Some(count);
    }
    let lost = last_end.is_some_and(is_made_up);
    let had_one = status.container_id.as_ref().is_some_and(|id| !id.is_empty()) || last_end.is_some();
    had_one.then(|| if lost && status.container_id.is_none() { count.saturating_sub(1) } else { count })
}

//! Which changes of a pod's containers no status may report (`checkContainerStateTransition` of upstream's status manager).

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};
use thiserror::Error;

use super::containers::terminated_state;
use super::restart_all;
use crate::container::plan::{RestartPolicy, app_containers, init_containers, should_restart};
use crate::pod::resources::is_sidecar;

/// A container that has ended for good would run again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("terminated container {container} would leave its state, which restart policy {policy:?} forbids")]
pub struct IllegalTransition {
    pub container: String,
    pub policy: RestartPolicy,
}

/// Refuses a new status in which a container that has ended for good hasn't.
///
/// # Errors
/// A container that has ended for good would run again.
pub fn check_container_transition(
    pod: &Pod,
    old: &PodStatus,
    new: &PodStatus,
) -> Result<(), IllegalTransition> {
    let policy = RestartPolicy::of(pod);
    if policy == RestartPolicy::Always || restart_all::is_possible(pod) {
        return Ok(());
    }
    let statuses = |status: &Option<Vec<ContainerStatus>>| status.clone().unwrap_or_default();
    let app = leaving(
        app_containers(pod),
        &statuses(&old.container_statuses),
        &statuses(&new.container_statuses),
        |container, exit_code| should_restart(pod, container, exit_code),
    );
    let init = leaving(
        init_containers(pod),
        &statuses(&old.init_container_statuses),
        &statuses(&new.init_container_statuses),
        // One that is done isn't done again, whatever its rules say.
        |container, exit_code| {
            is_sidecar(container) || (exit_code != 0 && should_restart(pod, container, exit_code))
        },
    );
    match app.or(init) {
        Some(container) => Err(IllegalTransition { container, policy }),
        None => Ok(()),
    }
}

/// The first container that leaves its end although it may not.
fn leaving(
    containers: &[Container],
    old: &[ContainerStatus],
    new: &[ContainerStatus],
    may_run_again: impl Fn(&Container, i32) -> bool,
) -> Option<String> {
    let leaves = |before: &&ContainerStatus| {
        let Some(ended) = terminated_state(before) else { return false };
        let Some(container) = containers.iter().find(|container| container.name == before.name) else {
            return false;
        };
        let after = new.iter().find(|status| status.name == before.name);
        after.is_some_and(|after| terminated_state(after).is_none())
            && !may_run_again(container, ended.exit_code)
    };
    old.iter().find(leaves).map(|status| status.name.clone())
}

#[cfg(test)]
mod tests;

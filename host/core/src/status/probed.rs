//! What a probe has found out, taken into the last status at once: a sync of the pod may take as long as a pull does
//! (upstream: `SetContainerReadiness` and `SetContainerStartup` of the status manager).

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};

use super::Phase;
use super::conditions::{self, ConditionInput};
use super::containers::is_running;
use super::resize::ResizeStatus;
use crate::probe::facts::probed_containers;
use crate::probe::{ProbeKind, ProbeResult};
use crate::runtime::ContainerId;

#[cfg(test)]
mod tests;

/// The status with what was found of a container; none if it says so already, or reports no such running container.
/// Liveness is nothing that a status says. `pod` is as its source has it, for its readiness gates.
pub fn probed(
    pod: &Pod,
    last: &PodStatus,
    container: &ContainerId,
    kind: ProbeKind,
    result: ProbeResult,
    now: Timestamp,
) -> Option<PodStatus> {
    let passes = result == ProbeResult::Success;
    let mut status = last.clone();
    let init = status.init_container_statuses.iter_mut().flatten();
    let found = init
        .chain(status.container_statuses.iter_mut().flatten())
        .find(|status| is_running(status) && id_of(status) == Some(container.as_str()))?;
    match kind {
        ProbeKind::Liveness => return None,
        ProbeKind::Startup if found.started == Some(passes) => return None,
        ProbeKind::Startup => {
            found.started = Some(passes);
            return Some(status);
        }
        ProbeKind::Readiness if found.ready == passes => return None,
        ProbeKind::Readiness => found.ready = passes,
    }
    let init = status.init_container_statuses.iter().flatten();
    let statuses: Vec<&ContainerStatus> = init.chain(status.container_statuses.iter().flatten()).collect();
    let ready = conditions::readiness(ConditionInput {
        pod,
        phase: Phase::of(last)?,
        statuses: Some(&statuses),
        has_network: true,
        restarting_all: false,
        resize: &ResizeStatus::default(),
        previous: Some(last),
        now,
    });
    for condition in ready {
        conditions::put(status.conditions.get_or_insert_default(), condition);
    }
    Some(status)
}

/// Containers that have started, by id, and whether they are ready.
pub type StartedContainers = BTreeMap<ContainerId, bool>;

/// Returns what a restarted agent can't know before probes have run again: which containers have started, and whether they are ready. Containers
/// without startup and readiness probes are left out, for both follows from that they run.
pub fn started_containers(pod: &Pod, status: &PodStatus) -> StartedContainers {
    let is_probed =
        |container: &Container| container.startup_probe.is_some() || container.readiness_probe.is_some();
    let started = |(container, is_sidecar): (&Container, bool)| {
        let statuses = if is_sidecar { &status.init_container_statuses } else { &status.container_statuses };
        let status = statuses.iter().flatten().find(|status| status.name == container.name)?;
        let has_started = is_running(status) && status.started == Some(true);
        id_of(status).filter(|_| has_started).map(|id| (ContainerId::from(id), status.ready))
    };
    probed_containers(pod).filter(|(container, _)| is_probed(container)).filter_map(started).collect()
}

/// Without the runtime's scheme.
fn id_of(status: &ContainerStatus) -> Option<&str> {
    let id = status.container_id.as_deref()?;
    Some(id.split_once("://").map_or(id, |(_, id)| id))
}

//! The conditions of a pod that the node agent owns (upstream: `status/generate.go`).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::phase::Phase;
use crate::container::plan::app_containers;

const READY_TO_START: &str = "PodReadyToStartContainers";
const INITIALIZED: &str = "Initialized";
const READY: &str = "Ready";
const CONTAINERS_READY: &str = "ContainersReady";
const SCHEDULED: &str = "PodScheduled";
const OWNED: [&str; 5] = [READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED];

const CONTAINERS_NOT_READY: &str = "ContainersNotReady";
const READINESS_GATES_NOT_READY: &str = "ReadinessGatesNotReady";
const POD_COMPLETED: &str = "PodCompleted";
const POD_FAILED: &str = "PodFailed";

/// The facts that conditions are made from.
#[derive(Clone, Copy)]
pub(super) struct ConditionInput<'a> {
    pub(super) pod: &'a Pod,
    pub(super) phase: Phase,
    pub(super) statuses: &'a [ContainerStatus],
    /// Its sandbox is ready and has its network.
    pub(super) has_network: bool,
    pub(super) previous: Option<&'a PodStatus>,
    pub(super) now: Timestamp,
}

/// Whether something holds, and why not.
#[derive(Clone)]
struct Finding {
    holds: bool,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Finding {
    fn plain(holds: bool) -> Self {
        Self { holds, reason: None, message: None }
    }

    fn not(reason: &'static str, message: Option<String>) -> Self {
        Self { holds: false, reason: Some(reason), message }
    }
}

/// All conditions: those of others as they were, then the agent's own. The time of a condition is when it last turned.
pub(super) fn generate(input: ConditionInput<'_>) -> Vec<PodCondition> {
    let containers_ready = containers_ready(input);
    let ready = ready(input, &containers_ready);
    let initialized = match input.phase {
        Phase::Succeeded => Finding { holds: true, reason: Some(POD_COMPLETED), message: None },
        // There are no init containers to wait for in this release.
        Phase::Pending | Phase::Running | Phase::Failed => Finding::plain(true),
    };
    let own = [
        (READY_TO_START, Finding::plain(input.has_network)),
        (INITIALIZED, initialized),
        (READY, ready),
        (CONTAINERS_READY, containers_ready),
        (SCHEDULED, Finding::plain(true)),
    ];
    let own = own.into_iter().map(|(kind, finding)| condition(input, kind, finding));
    foreign(input.pod).cloned().chain(own).collect()
}

/// Conditions that somebody else owns, such as readiness gates: the API server's word on them is the newest.
fn foreign(pod: &Pod) -> impl Iterator<Item = &PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().filter(|condition| !OWNED.contains(&condition.type_.as_str()))
}

fn condition(input: ConditionInput<'_>, kind: &str, finding: Finding) -> PodCondition {
    let status = if finding.holds { "True" } else { "False" };
    let before = input.previous.and_then(|p| p.conditions.iter().flatten().find(|c| c.type_ == kind));
    let turned = before.filter(|before| before.status == status);
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: finding.reason.map(str::to_owned),
        message: finding.message,
        last_transition_time: turned
            .and_then(|before| before.last_transition_time.clone())
            .or(Some(Time(input.now))),
        observed_generation: input.pod.metadata.generation,
        ..PodCondition::default()
    }
}

fn containers_ready(input: ConditionInput<'_>) -> Finding {
    match input.phase {
        Phase::Succeeded => return Finding::not(POD_COMPLETED, None),
        Phase::Failed => return Finding::not(POD_FAILED, None),
        Phase::Pending | Phase::Running => {}
    }
    let (mut unknown, mut unready) = (Vec::new(), Vec::new());
    for container in app_containers(input.pod) {
        match input.statuses.iter().find(|status| status.name == container.name) {
            None => unknown.push(container.name.as_str()),
            Some(status) if !status.ready => unready.push(container.name.as_str()),
            Some(_) => {}
        }
    }
    let lists = [("unknown", unknown), ("unready", unready)];
    let messages: Vec<String> = lists
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("containers with {what} status: [{}]", names.join(" ")))
        .collect();
    if messages.is_empty() {
        Finding::plain(true)
    } else {
        Finding::not(CONTAINERS_NOT_READY, Some(messages.join(", ")))
    }
}

/// A pod is ready when its containers are and every readiness gate of its spec is a condition that is true.
fn ready(input: ConditionInput<'_>, containers_ready: &Finding) -> Finding {
    if !containers_ready.holds {
        return containers_ready.clone();
    }
    let gates = input.pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_ref());
    let problems: Vec<String> = gates
        .into_iter()
        .flatten()
        .filter_map(|gate| {
            let kind = gate.condition_type.as_str();
            match foreign(input.pod).find(|condition| condition.type_ == kind) {
                None => Some(format!("readiness gate {kind} has no condition")),
                Some(condition) if condition.status == "True" => None,
                Some(condition) => {
                    Some(format!("condition of readiness gate {kind} is {}", condition.status))
                }
            }
        })
        .collect();
    if problems.is_empty() {
        Finding::plain(true)
    } else {
        Finding::not(READINESS_GATES_NOT_READY, Some(problems.join(", ")))
    }
}

#[cfg(test)]
mod tests;

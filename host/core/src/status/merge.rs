//! Merges the API server's status of a pod with the agent's (`mergePodStatus` of upstream's status manager).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodCondition, PodStatus};

use super::Phase;
use super::conditions::{
    CONTAINERS_READY, DISRUPTION_TARGET, READY, find, is_owned, not_ready_at_end, put, turned,
};

#[cfg(test)]
mod tests;

/// The agent's status with the conditions that the API server alone knows. A phase that ends the pod is held back while
/// `may_run`, which says that containers of the pod may run: anyone who sees the pod ended counts its resources as free.
pub fn merge(api: &PodStatus, agent: &PodStatus, may_run: bool, now: Timestamp) -> PodStatus {
    let is_terminal = |status: &PodStatus| Phase::of(status).is_some_and(Phase::is_terminal);
    let ends = is_terminal(agent) && !is_terminal(api);
    let mut merged = agent.clone();
    let theirs = api.conditions.iter().flatten().filter(|condition| !is_owned(condition)).cloned();
    let mut conditions: Vec<PodCondition> = theirs.collect();
    for condition in agent.conditions.iter().flatten() {
        if is_owned(condition) {
            conditions.push(condition.clone());
        } else if condition.type_ == DISRUPTION_TARGET && ends && !may_run {
            // Reported only with the end itself, so it also begins with it.
            let last_transition_time = turned(find(api, DISRUPTION_TARGET), &condition.status, now);
            put(&mut conditions, PodCondition { last_transition_time, ..condition.clone() });
        }
    }
    if ends && may_run {
        merged.phase.clone_from(&api.phase);
        merged.reason.clone_from(&api.reason);
        merged.message.clone_from(&api.message);
    }
    merged.conditions = Some(conditions);
    set_not_ready_at_end(&mut merged, now);
    merged
}

/// A pod that has ended is never reported as ready, however the statuses were merged.
fn set_not_ready_at_end(status: &mut PodStatus, now: Timestamp) {
    let is_true = |kind| find(status, kind).is_some_and(|condition| condition.status == "True");
    let Some(phase) = Phase::of(status).filter(|_| is_true(READY) || is_true(CONTAINERS_READY)) else {
        return;
    };
    for kind in [CONTAINERS_READY, READY] {
        let Some(mut condition) = not_ready_at_end(status.observed_generation, phase, kind) else { return };
        condition.last_transition_time = turned(find(status, kind), &condition.status, now);
        put(status.conditions.get_or_insert_default(), condition);
    }
}

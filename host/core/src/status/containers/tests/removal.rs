//! Containers that are removed to be started again, since the end of one restarts all of the pod (KEP-5532).

use k8s_openapi::api::core::v1::{ContainerRestartRule, ContainerRestartRuleOnExitCodes, PodCondition};

use super::*;

/// A pod whose container `b` restarts all when it ends with 42.
fn restarting_all() -> Pod {
    let mut pod = pod("Never", &["a", "b"]);
    let trigger = &mut spec(&mut pod).containers[1];
    let codes = ContainerRestartRuleOnExitCodes { operator: "In".to_owned(), values: Some(vec![42]) };
    let action = "RestartAllContainers".to_owned();
    trigger.restart_policy = Some("Never".to_owned());
    trigger.restart_policy_rules = Some(vec![ContainerRestartRule { action, exit_codes: Some(codes) }]);
    pod
}

#[test]
fn a_container_removed_to_be_started_again_says_so() {
    let pod = restarting_all();
    let removed = words("waiting RestartingAllContainers: -", "terminated 137 RestartingAllContainers", 1);
    let without_message = |status: &ContainerStatus| {
        let (state, last, count) = words_of(status);
        let state = state.split(": ").next().unwrap_or_default().to_owned();
        (format!("{state}: -"), last, count)
    };
    let before = Facts::of(pod.clone(), vec![running(&pod, "a"), exited(&pod, "b", 42)]).statuses();
    let halfway = Facts::of(pod.clone(), vec![exited(&pod, "b", 42)]).before(before.clone());
    assert_eq!(without_message(&halfway.statuses()[0]), removed);
    assert_eq!(words_of(&halfway.statuses()[1]), words("terminated 42 Error", "empty", 0));
    // All are gone; that it had begun is known from the condition.
    let mut all_gone = Facts::of(pod.clone(), vec![]).before(before.clone());
    let began = PodCondition {
        type_: restart_all::CONDITION.to_owned(),
        status: "True".to_owned(),
        ..PodCondition::default()
    };
    all_gone.previous.as_mut().unwrap().conditions = Some(vec![began]);
    assert_eq!(all_gone.statuses().iter().map(without_message).collect::<Vec<_>>(), vec![removed; 2]);
    // Without it, a container that vanished is a loss like any other.
    let lost = Facts::of(pod, vec![]).before(before).statuses();
    assert_eq!(word(&lost[0].last_state), "terminated 137 ContainerStatusUnknown");
}

#[test]
fn a_container_started_again_after_all_were_removed_counts_on() {
    let pod = restarting_all();
    let before = vec![ContainerStatus {
        name: "a".to_owned(),
        ..Facts::of(pod.clone(), vec![exited(&pod, "a", 0)]).statuses().remove(0)
    }];
    let mut next = running(&pod, "a");
    next.id = "another".into();
    let status = Facts::of(pod, vec![next]).before(before).statuses().remove(0);
    assert_eq!(words_of(&status), words("running", "terminated 0 Completed", 1));
}

#[test]
fn a_container_that_was_stopped_and_removed_unseen_has_ended_for_the_restart_of_all() {
    let pod = restarting_all();
    let before = Facts::of(pod.clone(), vec![running(&pod, "a"), running(&pod, "b")]).statuses();
    let mut next = running(&pod, "a");
    next.id = "another".into();
    let status = |pod: Pod| Facts::of(pod, vec![next.clone()]).before(before.clone()).statuses().remove(0);
    assert_eq!(word(&status(pod).last_state), "terminated 137 RestartingAllContainers");
    let without_rules = super::pod("Never", &["a", "b"]);
    assert_eq!(word(&status(without_rules).last_state), "empty");
    // The same instance goes on.
    let same = Facts::of(restarting_all(), vec![running(&restarting_all(), "a")]).before(before).statuses();
    assert_eq!(word(&same[0].last_state), "empty");
}

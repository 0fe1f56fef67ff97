//! Tests of the transitions that no status may report.

use k8s_openapi::api::core::v1::{
    ContainerRestartRule, ContainerRestartRuleOnExitCodes, ContainerState, ContainerStateRunning,
    ContainerStateTerminated, ContainerStateWaiting,
};

use super::*;
use crate::fixtures::{pod, spec};

/// A status whose container is in this state: an exit code, `running`, `waiting` or `-` for none.
fn container(name: &str, state: &str) -> Vec<ContainerStatus> {
    let state = match state {
        "-" => return Vec::new(),
        "running" => {
            let running = Some(ContainerStateRunning::default());
            ContainerState { running, ..ContainerState::default() }
        }
        "waiting" => {
            let waiting = Some(ContainerStateWaiting::default());
            ContainerState { waiting, ..ContainerState::default() }
        }
        exit_code => {
            let exit_code = exit_code.parse().unwrap();
            let terminated = Some(ContainerStateTerminated { exit_code, ..Default::default() });
            ContainerState { terminated, ..ContainerState::default() }
        }
    };
    vec![ContainerStatus { name: name.to_owned(), state: Some(state), ..ContainerStatus::default() }]
}

fn app(state: &str) -> PodStatus {
    PodStatus { container_statuses: Some(container("a", state)), ..PodStatus::default() }
}

fn init(state: &str) -> PodStatus {
    PodStatus { init_container_statuses: Some(container("x", state)), ..PodStatus::default() }
}

#[test]
fn a_container_that_ended_for_good_may_not_run_again() {
    let cases = [
        ("Always", "0", "running", true),
        ("Always", "1", "running", true),
        ("OnFailure", "0", "running", false),
        ("OnFailure", "0", "waiting", false),
        ("OnFailure", "1", "running", true),
        ("Never", "0", "running", false),
        ("Never", "1", "running", false),
        ("Never", "1", "waiting", false),
        ("Never", "1", "1", true),
        ("Never", "running", "1", true),
        ("Never", "running", "running", true),
        ("Never", "waiting", "running", true),
        ("Never", "1", "-", true),
        ("Never", "-", "running", true),
    ];
    for (policy, old, new, allowed) in cases {
        let pod = pod(policy, &["a"]);
        let result = check_container_transition(&pod, &app(old), &app(new));
        assert_eq!(result.is_ok(), allowed, "{policy}: {old} to {new}");
    }
    let error = check_container_transition(&pod("Never", &["a"]), &app("1"), &app("running"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "terminated container a would leave its state, which restart policy Never forbids"
    );
}

/// A rule for exit code 42.
fn rule(action: &str) -> Option<Vec<ContainerRestartRule>> {
    let codes = ContainerRestartRuleOnExitCodes { operator: "In".to_owned(), values: Some(vec![42]) };
    Some(vec![ContainerRestartRule { action: action.to_owned(), exit_codes: Some(codes) }])
}

#[test]
fn what_a_containers_own_policy_or_rules_restart_may_run_again() {
    // The pod's policy, the container's, its rule's action, the exit code, whether it may run again.
    let cases = [
        ("Never", Some("Always"), None, "0", true),
        ("Never", Some("OnFailure"), None, "1", true),
        ("Never", Some("OnFailure"), None, "0", false),
        ("OnFailure", Some("Never"), None, "1", false),
        ("Never", Some("Never"), Some("Restart"), "42", true),
        ("Never", Some("Never"), Some("Restart"), "1", false),
        ("Never", Some("Never"), Some("RestartAllContainers"), "42", true),
        ("Never", Some("Never"), Some("RestartAllContainers"), "0", true),
    ];
    for (policy, own, action, exit_code, allowed) in cases {
        let mut pod = pod(policy, &["a"]);
        let container = &mut spec(&mut pod).containers[0];
        container.restart_policy = own.map(str::to_owned);
        container.restart_policy_rules = action.and_then(rule);
        let result = check_container_transition(&pod, &app(exit_code), &app("running"));
        assert_eq!(result.is_ok(), allowed, "{policy} {own:?} {action:?} {exit_code}");
    }
}

#[test]
fn an_init_container_that_is_done_or_failed_for_good_may_not_run_again_but_a_sidecar_may() {
    // The pod's policy, whether it is a sidecar, the exit code, whether it may run again.
    let cases = [
        ("Always", false, "0", true),
        ("OnFailure", false, "0", false),
        ("OnFailure", false, "1", true),
        ("Never", false, "0", false),
        ("Never", false, "1", false),
        ("OnFailure", true, "0", true),
        ("Never", true, "0", true),
        ("Never", true, "1", true),
    ];
    for (policy, is_sidecar, exit_code, allowed) in cases {
        let mut pod = pod(policy, &["a"]);
        let restart_policy = is_sidecar.then(|| "Always".to_owned());
        let container = Container { name: "x".to_owned(), restart_policy, ..Container::default() };
        spec(&mut pod).init_containers = Some(vec![container]);
        let result = check_container_transition(&pod, &init(exit_code), &init("running"));
        assert_eq!(result.is_ok(), allowed, "{policy} sidecar {is_sidecar}: {exit_code}");
    }
}

#[test]
fn a_container_that_the_spec_has_no_more_may_do_as_it_likes() {
    let pod = pod("Never", &["b"]);
    assert_eq!(check_container_transition(&pod, &app("1"), &app("running")), Ok(()));
}

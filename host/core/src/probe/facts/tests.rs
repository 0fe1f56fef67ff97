//! What workers see of pods.

use k8s_openapi::api::core::v1::{
    ContainerRestartRule, ContainerRestartRuleOnExitCodes, ContainerState, ContainerStateRunning,
    ContainerStateTerminated, ContainerStateWaiting,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::fixtures::{at, first, pod, spec};

fn status(name: &str, id: Option<&str>, state: ContainerState) -> ContainerStatus {
    ContainerStatus {
        name: name.to_owned(),
        container_id: id.map(str::to_owned),
        state: Some(state),
        ..ContainerStatus::default()
    }
}

fn running() -> ContainerState {
    let running = ContainerStateRunning { started_at: Some(Time(at(5))) };
    ContainerState { running: Some(running), ..ContainerState::default() }
}

fn waiting() -> ContainerState {
    ContainerState { waiting: Some(ContainerStateWaiting::default()), ..ContainerState::default() }
}

fn ended(exit_code: i32) -> ContainerState {
    let terminated = ContainerStateTerminated { exit_code, ..ContainerStateTerminated::default() };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn of(phase: &str, statuses: Vec<ContainerStatus>) -> PodStatus {
    PodStatus { phase: Some(phase.to_owned()), container_statuses: Some(statuses), ..PodStatus::default() }
}

fn rule(action: &str, operator: &str, values: &[i32]) -> ContainerRestartRule {
    ContainerRestartRule {
        action: action.to_owned(),
        exit_codes: Some(ContainerRestartRuleOnExitCodes {
            operator: operator.to_owned(),
            values: Some(values.to_vec()),
        }),
    }
}

/// What is seen of container `a` of this pod.
fn seen(pod: &Pod, status: &PodStatus) -> ProbedPod {
    let (container, _) =
        probed_containers(pod).find(|(container, _)| container.name == "a").expect("it has one");
    probed_pod(pod, container, status)
}

#[test]
fn a_container_is_seen_once_it_has_an_id() {
    let pod = pod("Always", &["a", "b"]);
    let cases = [
        ("no status of it", vec![status("b", Some("containerd://b1"), running())], None),
        ("no id yet", vec![status("a", None, waiting())], None),
        ("an empty id", vec![status("a", Some("containerd://"), waiting())], None),
        ("an id", vec![status("a", Some("containerd://a1"), running())], Some("a1")),
        ("an id without a scheme", vec![status("a", Some("a1"), running())], Some("a1")),
    ];
    for (name, statuses, expected) in cases {
        let seen = seen(&pod, &of("Running", statuses));
        assert_eq!(seen.container.map(|container| container.id), expected.map(ContainerId::from), "{name}");
    }
}

#[test]
fn a_sidecar_is_seen_among_the_init_containers() {
    let mut pod = pod("Always", &["main"]);
    let sidecar =
        Container { name: "a".to_owned(), restart_policy: Some("Always".to_owned()), ..Container::default() };
    let init = Container { name: "init".to_owned(), ..Container::default() };
    spec(&mut pod).init_containers = Some(vec![init, sidecar]);
    let probed: Vec<_> =
        probed_containers(&pod).map(|(container, sidecar)| (&*container.name, sidecar)).collect();
    assert_eq!(probed, [("a", true), ("main", false)], "no other init container is probed");
    let status = PodStatus {
        phase: Some("Pending".to_owned()),
        init_container_statuses: Some(vec![status("a", Some("containerd://a1"), running())]),
        ..PodStatus::default()
    };
    assert_eq!(seen(&pod, &status).container.map(|container| container.id), Some("a1".into()));
}

#[test]
fn the_pods_end_is_seen() {
    let mut pod = pod("Always", &["a"]);
    for (phase, terminal) in [("Pending", false), ("Running", false), ("Succeeded", true), ("Failed", true)] {
        assert_eq!(seen(&pod, &of(phase, Vec::new())).is_terminal, terminal, "{phase}");
    }
    assert!(!seen(&pod, &of("Running", Vec::new())).is_deleted);
    pod.metadata.deletion_timestamp = Some(Time(at(0)));
    assert!(seen(&pod, &of("Running", Vec::new())).is_deleted);
}

#[test]
fn what_it_does_and_whether_it_has_started_are_seen() {
    let pod = pod("Always", &["a"]);
    let cases = [
        (running(), ProbedState::Running { since: Some(at(5)) }),
        (waiting(), ProbedState::Waiting),
        (ContainerState::default(), ProbedState::Waiting),
        (ended(1), ProbedState::Ended { restarts: true }),
    ];
    for (state, expected) in cases {
        for (started, is_started) in [(None, false), (Some(false), false), (Some(true), true)] {
            let status = ContainerStatus { started, ..status("a", Some("x://a1"), state.clone()) };
            let expected = ProbedContainer { id: "a1".into(), state: expected, is_started };
            assert_eq!(seen(&pod, &of("Running", vec![status])).container, Some(expected));
        }
    }
}

#[test]
fn who_runs_again_is_decided_by_rules_then_own_policy_then_the_pods() {
    let restart = |operator, values: &[i32]| vec![rule("Restart", operator, values)];
    // Pod's policy, own policy, rules, exit code → runs again.
    type Case<'a> = (&'a str, Option<&'a str>, Vec<ContainerRestartRule>, i32, bool);
    let cases: [Case<'_>; 15] = [
        ("Always", None, vec![], 0, true),
        ("Always", None, vec![], 1, true),
        ("OnFailure", None, vec![], 0, false),
        ("OnFailure", None, vec![], 1, true),
        ("Never", None, vec![], 0, false),
        ("Never", None, vec![], 1, false),
        ("Never", Some("Always"), vec![], 0, true),
        ("Never", Some("OnFailure"), vec![], 1, true),
        ("Never", Some("OnFailure"), vec![], 0, false),
        ("Always", Some("Never"), vec![], 1, false),
        ("Never", Some("Never"), restart("In", &[42]), 42, true),
        ("Never", Some("Never"), restart("In", &[42]), 1, false),
        ("Never", Some("Never"), restart("NotIn", &[42]), 1, true),
        ("Never", Some("Never"), restart("NotIn", &[42]), 42, false),
        ("Never", None, restart("In", &[42]), 42, false),
    ];
    for (of_pod, own, rules, exit_code, restarts) in cases {
        let mut pod = pod(of_pod, &["a"]);
        first(&mut pod).restart_policy = own.map(str::to_owned);
        first(&mut pod).restart_policy_rules = Some(rules.clone());
        let status = of("Running", vec![status("a", Some("x://a1"), ended(exit_code))]);
        let state = seen(&pod, &status).container.map(|container| container.state);
        assert_eq!(state, Some(ProbedState::Ended { restarts }), "{of_pod} {own:?} {rules:?} {exit_code}");
    }
}

#[test]
fn the_end_of_another_container_may_restart_all() {
    let mut pod = pod("Never", &["a", "b"]);
    let b = &mut spec(&mut pod).containers[1];
    b.restart_policy = Some("Never".to_owned());
    b.restart_policy_rules = Some(vec![rule("RestartAllContainers", "In", &[7])]);
    for (of_b, restarts) in [(ended(7), true), (ended(1), false), (running(), false)] {
        let statuses = vec![status("a", Some("x://a1"), ended(0)), status("b", Some("x://b1"), of_b)];
        let state = seen(&pod, &of("Running", statuses)).container.map(|container| container.state);
        assert_eq!(state, Some(ProbedState::Ended { restarts }));
    }
}

#[test]
fn a_type_is_notified_of_addresses_each_once_and_the_primary_ones_first() {
    let status: PodStatus = serde_json::from_value(serde_json::json!({
        "podIP": "10.0.0.7",
        "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}, {"ip": "nonsense"}],
        "hostIP": "fd00::1",
        "hostIPs": [{"ip": "192.0.2.1"}, {"ip": "fd00::1"}],
        "containerStatuses": [{
            "name": "a", "containerID": "containerd://a1", "restartCount": 3,
            "image": "", "imageID": "", "ready": false,
        }],
    }))
    .unwrap();
    let ips = |texts: &[&str]| texts.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<IpAddr>>();
    let (pod_ips, host_ips) = (ips(&["10.0.0.7", "fd00::7"]), ips(&["fd00::1", "192.0.2.1"]));
    let expected = ProbedInstance { restarts: 3, pod_ips, host_ips };
    assert_eq!(probed_instance(&status, "a"), expected);
    assert_eq!(probed_instance(&status, "b"), ProbedInstance { restarts: 0, ..expected });
    assert_eq!(probed_instance(&PodStatus::default(), "a"), ProbedInstance::default());
}

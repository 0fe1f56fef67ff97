//! Tests of whole statuses, and of those that don't come from the runtime.

use std::net::IpAddr;

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{
    at, exited, from_file, in_dead_sandbox, in_sandbox, instance, observed, pod, running, spec,
};
use crate::runtime::ContainerRunState;

fn generate_of(pod: &Pod, seen: &ObservedPod, previous: Option<&PodStatus>, now: i64) -> PodStatus {
    let host_ips: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    generate(StatusInput {
        pod,
        observed: seen,
        previous,
        host_ips: &host_ips,
        runtime_name: "containerd",
        recursive_read_only: true,
        waiting: &BTreeMap::new(),
        probes: &BTreeMap::new(),
        resize: &ResizeStatus::default(),
        ends: false,
        now: at(now),
    })
}

fn yaml(status: &PodStatus) -> String {
    serde_saphyr::to_string(status).unwrap()
}

fn condition(status: &PodStatus, kind: &str) -> String {
    let found = status.conditions.iter().flatten().find(|condition| condition.type_ == kind).unwrap();
    format!("{} {}", found.status, found.reason.as_deref().unwrap_or("-"))
}

#[test]
fn a_running_pod_has_everything_that_people_look_for() {
    let pod = pod("Always", &["a"]);
    let status = generate_of(&pod, &in_sandbox(vec![running(&pod, "a")]), None, 5);
    expect![[r#"
        conditions:
        - lastTransitionTime: "2027-01-15T08:00:05Z"
          status: "True"
          type: PodReadyToStartContainers
        - lastTransitionTime: "2027-01-15T08:00:05Z"
          status: "True"
          type: Initialized
        - lastTransitionTime: "2027-01-15T08:00:05Z"
          status: "True"
          type: Ready
        - lastTransitionTime: "2027-01-15T08:00:05Z"
          status: "True"
          type: ContainersReady
        - lastTransitionTime: "2027-01-15T08:00:05Z"
          status: "True"
          type: PodScheduled
        containerStatuses:
        - containerID: containerd://a-0
          image: a-image
          imageID: sha256:a
          lastState: {}
          name: a
          ready: true
          resources: {}
          restartCount: 0
          started: true
          state:
            running:
              startedAt: "2027-01-15T08:00:00Z"
        hostIP: "192.0.2.1"
        hostIPs:
        - ip: "192.0.2.1"
        - ip: 2001:db8::1
        phase: Running
        podIP: "10.0.0.7"
        podIPs:
        - ip: "10.0.0.7"
        qosClass: BestEffort
        resources: {}
        startTime: "2027-01-15T08:00:05Z"
    "#]]
    .assert_eq(&yaml(&status));
}

#[test]
fn the_same_facts_later_give_the_same_status() {
    let pod = pod("Always", &["a", "b"]);
    let seen = in_sandbox(vec![running(&pod, "a"), exited(&pod, "b", 1)]);
    let first = generate_of(&pod, &seen, None, 5);
    assert_eq!(generate_of(&pod, &seen, Some(&first), 50), first);
}

#[test]
fn a_pod_on_the_host_network_has_the_hosts_addresses() {
    let mut pod = pod("Always", &["a"]);
    spec(&mut pod).host_network = Some(true);
    let status = generate_of(&pod, &observed(vec![], vec![]), None, 5);
    assert_eq!(status.pod_ip.as_deref(), Some("192.0.2.1"));
    assert_eq!(status.pod_ips.unwrap().len(), 2);
}

#[test]
fn addresses_stay_after_the_sandbox_is_gone() {
    let pod = pod("Always", &["a"]);
    let first = generate_of(&pod, &in_sandbox(vec![running(&pod, "a")]), None, 5);
    let dead = in_dead_sandbox(vec![exited(&pod, "a", 1)]);
    assert_eq!(generate_of(&pod, &dead, Some(&first), 6).pod_ip.as_deref(), Some("10.0.0.7"));
    assert_eq!(generate_of(&pod, &dead, None, 6).pod_ip, None);
}

#[test]
fn a_sandbox_that_has_to_be_replaced_is_not_ready_to_start_containers() {
    let pod = pod("Always", &["a"]);
    for (seen, expected) in [
        (in_sandbox(vec![]), "True -"),
        (in_dead_sandbox(vec![]), "False -"),
        (observed(vec![], vec![]), "False -"),
    ] {
        assert_eq!(condition(&generate_of(&pod, &seen, None, 5), "PodReadyToStartContainers"), expected);
    }
}

#[test]
fn what_has_ended_stays_ended_whatever_the_runtime_forgets() {
    let pod = pod("Never", &["a"]);
    let ended = generate_of(&pod, &in_sandbox(vec![exited(&pod, "a", 0)]), None, 5);
    assert_eq!(ended.phase.as_deref(), Some("Succeeded"));
    assert_eq!(condition(&ended, "Ready"), "False PodCompleted");
    let forgotten = generate_of(&pod, &observed(vec![], vec![]), Some(&ended), 6);
    assert_eq!(forgotten.phase.as_deref(), Some("Succeeded"));
    let failed = PodStatus { phase: Some("Failed".to_owned()), ..PodStatus::default() };
    let told_by_the_api = Pod { status: Some(failed), ..pod };
    let status = generate_of(&told_by_the_api, &observed(vec![], vec![]), None, 6);
    assert_eq!(status.phase.as_deref(), Some("Failed"));
}

#[test]
fn a_reason_goes_with_its_phase() {
    let pod = pod("Always", &["a"]);
    let previous = blocked(&pod, None, "NotYet", "the disk is slow", at(1));
    let still_pending = generate_of(&pod, &in_sandbox(vec![]), Some(&previous), 5);
    assert_eq!(still_pending.reason.as_deref(), Some("NotYet"));
    let runs = generate_of(&pod, &in_sandbox(vec![running(&pod, "a")]), Some(&previous), 5);
    assert_eq!((runs.reason, runs.message), (None, None));
    assert_eq!(runs.start_time, Some(Time(at(1))));
}

#[test]
fn a_rejected_pod_has_failed_with_the_handlers_reason() {
    let status = rejected(&pod("Always", &["a"]), "NodePorts", "port 80 is taken", at(7));
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(status.reason.as_deref(), Some("NodePorts"));
    assert_eq!(status.message.as_deref(), Some("Pod was rejected: port 80 is taken"));
    assert_eq!(
        (status.start_time.clone(), status.qos_class.as_deref()),
        (Some(Time(at(7))), Some("BestEffort"))
    );
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    assert_eq!(condition(&status, "ContainersReady"), "False PodFailed");
    assert_eq!(status.container_statuses, None);
}

#[test]
fn a_deferred_pod_waits_as_blocked_with_the_handlers_words() {
    let pod = pod("Always", &["a", "b"]);
    let status = blocked(&pod, None, "NotYet", "the disk is slow", at(7));
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    assert_eq!(
        (status.reason.as_deref(), status.message.as_deref()),
        (Some("NotYet"), Some("the disk is slow"))
    );
    let waiting = |status: &PodStatus| -> Vec<(String, String)> {
        let states =
            status.container_statuses.iter().flatten().filter_map(|c| c.state.as_ref()?.waiting.clone());
        states.map(|waiting| (waiting.reason.unwrap(), waiting.message.unwrap())).collect()
    };
    assert_eq!(waiting(&status), vec![("Blocked".to_owned(), "NotYet: the disk is slow".to_owned()); 2]);
    let later = blocked(&pod, Some(&status), "NotYet", "the disk is slow", at(70));
    assert_eq!(later, status, "asking again changes nothing by itself");
}

#[test]
fn a_pod_of_which_nothing_runs_any_more_has_no_container_without_an_end() {
    let pod = pod("Always", &["a", "b", "c"]);
    let seen = in_sandbox(vec![running(&pod, "a"), exited(&pod, "b", 0)]);
    let last = generate_of(&pod, &seen, None, 5);
    let status = terminated(&pod, &last, at(9));
    let codes: Vec<i32> = status
        .container_statuses
        .iter()
        .flatten()
        .map(|status| containers::terminated_state(status).unwrap().exit_code)
        .collect();
    assert_eq!(codes, [137, 0, 137]);
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert!(status.container_statuses.iter().flatten().all(|status| !status.ready));
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    assert_eq!(terminated(&pod, &status, at(10)), status);
}

#[test]
fn the_end_of_a_pod_keeps_how_it_ended_and_a_static_pod_keeps_its_phase() {
    let pod = pod("Always", &["a"]);
    let with_phase =
        |phase: Option<&str>| PodStatus { phase: phase.map(str::to_owned), ..PodStatus::default() };
    let end = |pod: &Pod, phase| terminated(pod, &with_phase(phase), at(9)).phase.unwrap();
    let in_file = from_file(pod.clone());
    let cases = [
        (Some("Succeeded"), "Succeeded", "Succeeded"),
        (Some("Failed"), "Failed", "Failed"),
        (Some("Running"), "Failed", "Running"),
        (Some("Pending"), "Failed", "Pending"),
        (None, "Failed", "Pending"),
    ];
    for (before, expected, expected_static) in cases {
        assert_eq!((end(&pod, before).as_str(), end(&in_file, before).as_str()), (expected, expected_static));
    }
}

proptest! {
    #[test]
    fn any_facts_give_a_status_with_a_phase_and_five_conditions(
        states in prop::collection::vec((0..3usize, 0..4usize, 0..2i32), 0..6),
        policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")],
        ends in any::<bool>(),
    ) {
        let names = ["a", "b", "stray"];
        let run_states = [
            ContainerRunState::Created,
            ContainerRunState::Running,
            ContainerRunState::Exited,
            ContainerRunState::Unknown,
        ];
        let pod = pod(policy, &names[..2]);
        let containers = states.into_iter().map(|(name, state, exit_code)| {
            let mut seen = instance(&pod, names[name], 0, run_states[state]);
            seen.exit_code = exit_code;
            seen
        });
        let seen = in_sandbox(containers.collect());
        let input = StatusInput {
            pod: &pod, observed: &seen, previous: None, host_ips: &[], runtime_name: "r",
            recursive_read_only: false, waiting: &BTreeMap::new(), probes: &BTreeMap::new(),
            resize: &ResizeStatus::default(), ends, now: at(1),
        };
        let status = generate(input);
        let phase = Phase::of(&status);
        prop_assert!(phase.is_some());
        prop_assert_eq!(status.conditions.as_ref().map(Vec::len), Some(5));
        prop_assert_eq!(status.container_statuses.as_ref().map(Vec::len), Some(2));
        let running = |name: &str| seen.container(name).is_some_and(|c| c.state == ContainerRunState::Running);
        prop_assert!(!(phase.is_some_and(Phase::is_terminal) && (running("a") || running("b"))));
        let again = generate(StatusInput { previous: Some(&status), now: at(9), ..input });
        prop_assert_eq!(check_container_transition(&pod, &status, &again), Ok(()));
    }
}

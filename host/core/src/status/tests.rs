//! Tests of whole statuses, and of those that don't come from the runtime.

use std::net::IpAddr;

use expect_test::expect;

use super::*;
use crate::fixtures::{at, exited, in_dead_sandbox, in_sandbox, observed, pod, running, spec};

mod properties;
mod upstream;

fn generate_of(pod: &Pod, seen: &ObservedPod, previous: Option<&PodStatus>, now: i64) -> PodStatus {
    generate_as(pod, seen, previous, false, now)
}

/// That of a pod whose containers aren't started any more.
fn generate_end(pod: &Pod, seen: &ObservedPod, previous: &PodStatus, now: i64) -> PodStatus {
    generate_as(pod, seen, Some(previous), true, now)
}

fn generate_as(
    pod: &Pod,
    seen: &ObservedPod,
    previous: Option<&PodStatus>,
    ends: bool,
    now: i64,
) -> PodStatus {
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
        started_before: &BTreeMap::new(),
        resize: &ResizeStatus::default(),
        ends,
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
        startTime: "2027-01-15T08:00:00Z"
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
    let mut without_address = in_sandbox(vec![]);
    without_address.sandboxes[0].ips.clear();
    for (seen, expected) in [
        (in_sandbox(vec![]), "True -"),
        (without_address, "False -"),
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
    let reported_by_the_api = Pod { status: Some(failed), ..pod };
    let status = generate_of(&reported_by_the_api, &observed(vec![], vec![]), None, 6);
    assert_eq!(status.phase.as_deref(), Some("Failed"));
}

#[test]
fn an_evicted_or_preempted_pod_whose_containers_end_well_has_succeeded() {
    let ends_as = |policy: &str, reason: &str, codes: &[i32]| {
        let pod = pod(policy, &["a", "b"]);
        let runs = in_sandbox(vec![running(&pod, "a"), running(&pod, "b")]);
        let last = generate_of(&pod, &runs, None, 5);
        let condition_message = Some("capacity is needed".to_owned());
        let end = NodeEnd { reason: reason.to_owned(), message: "m".to_owned(), condition_message };
        let ended = ended_by_node(&pod, &last, &end, at(6));
        let still_runs = generate_end(&pod, &runs, &ended, 7);
        assert_eq!(
            (still_runs.phase.as_deref(), still_runs.reason.as_deref()),
            (Some("Failed"), Some(reason))
        );
        let containers = ["a", "b"].into_iter().zip(codes);
        let seen = in_dead_sandbox(containers.map(|(name, code)| exited(&pod, name, *code)).collect());
        let status = generate_end(&pod, &seen, &ended, 8);
        assert_eq!(condition(&status, "DisruptionTarget"), "True TerminationByKubelet");
        let again = generate_end(&pod, &observed(vec![], vec![]), &status, 9);
        assert_eq!((again.phase, again.reason), (status.phase.clone(), status.reason.clone()));
        (status.phase.unwrap_or_default(), status.reason.unwrap_or_default(), status.message.is_some())
    };
    let line =
        |(phase, reason, has_message): (String, String, bool)| format!("{phase} {reason} {has_message}");
    for (policy, reason, codes, expected) in [
        ("Always", "Preempting", [0, 0], "Succeeded  false"),
        ("Always", "Evicted", [0, 0], "Succeeded  false"),
        ("Never", "Evicted", [0, 0], "Succeeded  false"),
        ("Always", "Preempting", [0, 137], "Failed Preempting true"),
        ("OnFailure", "Evicted", [143, 0], "Failed Evicted true"),
        // What the agent ends for another reason was refused, which stays to be seen.
        ("Always", "NotNeeded", [0, 0], "Failed NotNeeded true"),
    ] {
        assert_eq!(line(ends_as(policy, reason, &codes)), expected, "{policy} {reason} {codes:?}");
    }
}

#[test]
fn a_reason_goes_with_its_phase() {
    let pod = pod("Always", &["a"]);
    let put_off = blocked(&pod, None, "NotYet", "the disk is slow", at(1));
    let admitted = generate_of(&pod, &in_sandbox(vec![]), Some(&put_off), 5);
    assert_eq!((admitted.reason, admitted.message), (None, None), "a deferral's words go with it");
    let previous = PodStatus { reason: Some("NodeLost".to_owned()), container_statuses: None, ..put_off };
    let still_pending = generate_of(&pod, &in_sandbox(vec![]), Some(&previous), 5);
    assert_eq!(still_pending.reason.as_deref(), Some("NodeLost"));
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
    assert_eq!((status.conditions, status.container_statuses), (None, None));
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
fn statuses_of_init_containers_keep_the_specs_order_and_empty_lists_are_left_out() {
    let mut pod = pod("Always", &["b", "a"]);
    let plain = generate_of(&pod, &in_sandbox(vec![]), None, 5);
    assert_eq!((plain.init_container_statuses, plain.ephemeral_container_statuses), (None, None));
    let init = ["z", "x"]
        .map(|name| k8s_openapi::api::core::v1::Container { name: name.to_owned(), ..Default::default() });
    spec(&mut pod).init_containers = Some(init.to_vec());
    let status = generate_of(&pod, &in_sandbox(vec![]), None, 5);
    let names = |statuses: &Option<Vec<k8s_openapi::api::core::v1::ContainerStatus>>| {
        statuses.iter().flatten().map(|status| status.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&status.init_container_statuses), ["z", "x"]);
    assert_eq!(names(&status.container_statuses), ["a", "b"]);
    assert_eq!(condition(&status, "Initialized"), "False ContainersNotInitialized");
}

#[test]
fn a_class_of_service_is_computed_unless_the_source_has_settled_it() {
    let mut pod = pod("Always", &["a"]);
    let class = |pod: &Pod| generate_of(pod, &in_sandbox(vec![]), None, 5).qos_class.unwrap();
    assert_eq!(class(&pod), "BestEffort");
    pod.status = Some(PodStatus { qos_class: Some("Guaranteed".to_owned()), ..PodStatus::default() });
    assert_eq!(class(&pod), "Guaranteed");
}

#[test]
fn a_generation_is_reported_as_observed() {
    let mut pod = pod("Always", &["a"]);
    pod.metadata.generation = Some(7);
    let status = generate_of(&pod, &in_sandbox(vec![]), None, 5);
    assert_eq!(status.observed_generation, Some(7));
    assert!(status.conditions.iter().flatten().all(|condition| condition.observed_generation == Some(7)));
}

#[test]
fn a_pod_has_one_address_of_each_family_that_of_the_node_first() {
    let ips = |ips: &[&str]| -> Vec<IpAddr> { ips.iter().map(|ip| ip.parse().unwrap()).collect() };
    type Ips = &'static [&'static str];
    // The node's addresses, the sandbox's, the pod's; and the host's as the status shows them.
    let cases: [(Ips, Ips, Ips, Ips); 7] = [
        (&["192.0.2.1"], &["10.0.0.7"], &["10.0.0.7"], &["192.0.2.1"]),
        (&["192.0.2.1"], &["fd00::7", "10.0.0.7"], &["10.0.0.7", "fd00::7"], &["192.0.2.1"]),
        (&["fd00::1"], &["10.0.0.7", "fd00::7"], &["fd00::7", "10.0.0.7"], &["fd00::1"]),
        (&["192.0.2.1"], &["fd00::7"], &["fd00::7"], &["192.0.2.1"]),
        (&["192.0.2.1", "192.0.2.2"], &["10.0.0.7", "10.0.0.8"], &["10.0.0.7"], &["192.0.2.1"]),
        (&["192.0.2.1", "fd00::1"], &[], &[], &["192.0.2.1", "fd00::1"]),
        (&[], &["fd00::7", "10.0.0.7"], &["10.0.0.7", "fd00::7"], &[]),
    ];
    for (node, sandbox, expected, hosts) in cases {
        let mut seen = in_sandbox(vec![]);
        seen.ips = ips(sandbox);
        let pod = pod("Always", &["a"]);
        let status = generate(StatusInput {
            pod: &pod,
            observed: &seen,
            previous: None,
            host_ips: &ips(node),
            runtime_name: "containerd",
            recursive_read_only: false,
            waiting: &BTreeMap::new(),
            probes: &BTreeMap::new(),
            started_before: &BTreeMap::new(),
            resize: &ResizeStatus::default(),
            ends: false,
            now: at(1),
        });
        let shown: Vec<String> = status.pod_ips.iter().flatten().map(|ip| ip.ip.clone()).collect();
        assert_eq!(shown, expected, "{node:?} {sandbox:?}");
        assert_eq!(status.pod_ip.as_deref(), expected.first().copied());
        let shown: Vec<String> = status.host_ips.iter().flatten().map(|ip| ip.ip.clone()).collect();
        assert_eq!(shown, hosts, "{node:?}");
    }
}

#[test]
fn a_pod_is_on_the_node_since_it_was_reported_or_since_its_oldest_sandbox() {
    let pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![running(&pod, "a")]);
    let begun = |seen: &ObservedPod, previous: Option<&PodStatus>, now| {
        generate_of(&pod, seen, previous, now).start_time.map(|time| time.0)
    };
    let nothing = observed(vec![], vec![]);
    assert_eq!(begun(&nothing, None, 5), Some(at(5)));
    assert_eq!(begun(&seen, None, 5), Some(at(0)), "the agent was restarted");
    assert_eq!(begun(&seen, None, -5), Some(at(-5)), "the clock was set back");
    let reported = generate_of(&pod, &nothing, None, 5);
    assert_eq!(begun(&seen, Some(&reported), 9), Some(at(5)));
}

#[test]
fn all_containers_restart_from_the_end_that_asks_for_it_until_it_is_cleared_away() {
    use k8s_openapi::api::core::v1::{ContainerRestartRule, ContainerRestartRuleOnExitCodes};
    let mut pod = pod("Always", &["a", "trigger"]);
    let codes = ContainerRestartRuleOnExitCodes { operator: "In".to_owned(), values: Some(vec![42]) };
    let action = "RestartAllContainers".to_owned();
    let trigger = &mut spec(&mut pod).containers[1];
    trigger.restart_policy = Some("Never".to_owned());
    trigger.restart_policy_rules = Some(vec![ContainerRestartRule { action, exit_codes: Some(codes) }]);
    let mut previous = None;
    let inspections = [
        (vec![], "False -"),
        (vec![running(&pod, "a"), running(&pod, "trigger")], "False -"),
        (vec![running(&pod, "a"), exited(&pod, "trigger", 1)], "False -"),
        (vec![running(&pod, "a"), exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![exited(&pod, "a", 137), exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![], "False -"),
    ];
    for (now, (containers, expected)) in (1..).zip(inspections) {
        let status = generate_of(&pod, &in_sandbox(containers), previous.as_ref(), now);
        assert_eq!(condition(&status, "AllContainersRestarting"), expected, "check {now}");
        assert!(!Phase::of(&status).is_some_and(Phase::is_terminal), "check {now}");
        previous = Some(status);
    }
}

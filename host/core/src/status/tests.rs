//! Tests of whole statuses, and of those that don't come from the runtime.

use std::net::IpAddr;

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{at, exited, in_dead_sandbox, in_sandbox, instance, observed, pod, running, spec};
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

/// The facts of one of upstream's cases of `generateAPIPodStatus`: a pod with containers `a` and `b`.
struct Case {
    pod: Pod,
    observed: ObservedPod,
    previous: PodStatus,
    ends: bool,
}

impl Case {
    /// Nothing is left of two containers that ran.
    fn vanished(observed: ObservedPod) -> Self {
        let pod = pod("Always", &["a", "b"]);
        let ran = in_sandbox(vec![running(&pod, "a"), running(&pod, "b")]);
        let container_statuses = generate_of(&pod, &ran, None, 1).container_statuses;
        let previous = PodStatus { container_statuses, ..PodStatus::default() };
        Self { pod, observed, previous, ends: false }
    }

    fn status(&self) -> PodStatus {
        generate(StatusInput {
            pod: &self.pod,
            observed: &self.observed,
            previous: Some(&self.previous),
            host_ips: &["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
            runtime_name: "containerd",
            recursive_read_only: false,
            waiting: &BTreeMap::new(),
            probes: &BTreeMap::new(),
            resize: &ResizeStatus::default(),
            ends: self.ends,
            now: at(9),
        })
    }
}

/// Phase and reason; then of each app container its state, the exit code of its last state and its restart count.
fn outline(status: &PodStatus) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let containers = status.container_statuses.iter().flatten().map(|container| {
        let state = container.state.clone().unwrap_or_default();
        let state = match (&state.waiting, &state.running, &state.terminated) {
            (Some(waiting), _, _) => text(&waiting.reason),
            (_, Some(_), _) => "running".to_owned(),
            (_, _, Some(ended)) => ended.exit_code.to_string(),
            (None, None, None) => "?".to_owned(),
        };
        let last = container.last_state.as_ref().and_then(|last| last.terminated.as_ref());
        let last = last.map_or_else(|| "-".to_owned(), |ended| ended.exit_code.to_string());
        format!(" {}={state},{last},{}", container.name, container.restart_count)
    });
    format!("{} {}:{}", text(&status.phase), text(&status.reason), containers.collect::<String>())
}

const READY: &str = "True -";

#[test]
fn containers_that_vanished_leave_a_pod_running_unless_it_ends() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    let status = case.status();
    assert_eq!(outline(&status), "Running -: a=ContainerCreating,137,1 b=ContainerCreating,137,1");
    assert_eq!(condition(&status, "PodReadyToStartContainers"), READY);
    assert_eq!(condition(&status, "Initialized"), READY);
    assert_eq!(status.host_ips.as_ref().map(Vec::len), Some(2));
    // A pod that is deleted restarts nothing.
    case.pod.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(outline(&case.status()), "Running -: a=ContainerCreating,137,0 b=ContainerCreating,137,0");
    // And one that ends has failed, for nobody knows better.
    case.ends = true;
    let target = k8s_openapi::api::core::v1::PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(Time(at(1))),
        ..Default::default()
    };
    case.previous.conditions = Some(vec![target.clone()]);
    let status = case.status();
    assert_eq!(outline(&status), "Failed -: a=ContainerCreating,137,0 b=ContainerCreating,137,0");
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    assert_eq!(status.conditions.iter().flatten().find(|c| c.type_ == target.type_), Some(&target));
}

#[test]
fn a_terminal_phase_stays_whoever_told_it() {
    let succeeded = |status: &PodStatus| {
        assert_eq!(condition(status, "Initialized"), "True PodCompleted");
        assert_eq!(condition(status, "Ready"), "False PodCompleted");
        assert_eq!(condition(status, "ContainersReady"), "False PodCompleted");
        assert_eq!(condition(status, "PodReadyToStartContainers"), "False -");
        status.phase.clone()
    };
    let with_phase = |phase: &str| Some(PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() });
    let mut by_source = Case::vanished(observed(vec![], vec![]));
    by_source.pod.status = with_phase("Succeeded");
    assert_eq!(succeeded(&by_source.status()).as_deref(), Some("Succeeded"));
    let mut by_agent = Case::vanished(observed(vec![], vec![]));
    by_agent.pod.status = with_phase("Running");
    by_agent.previous.phase = Some("Succeeded".to_owned());
    by_agent.previous.reason = Some("Test".to_owned());
    by_agent.previous.message = Some("test".to_owned());
    let status = by_agent.status();
    assert_eq!(succeeded(&status).as_deref(), Some("Succeeded"));
    assert_eq!((status.reason.as_deref(), status.message.as_deref()), (Some("Test"), Some("test")));
    // Whatever the agent makes of it now, the source isn't told otherwise.
    by_agent.pod.status = with_phase("Failed");
    assert_eq!(by_agent.status().phase.as_deref(), Some("Failed"));
}

#[test]
fn a_terminal_phase_stays_with_containers_that_succeeded_for_good() {
    let never = pod("Never", &["a", "b"]);
    let done = in_sandbox(vec![exited(&never, "a", 0), exited(&never, "b", 0)]);
    let mut previous = generate_of(&never, &done, None, 1);
    previous.reason = Some("Test".to_owned());
    let case = Case { pod: never, observed: observed(vec![], vec![]), previous, ends: false };
    assert_eq!(outline(&case.status()), "Succeeded Test: a=0,-,0 b=0,-,0");
}

#[test]
fn a_pod_that_waited_goes_on_waiting_and_its_reason_goes_with_the_phase() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    case.previous = generate_of(&case.pod, &in_sandbox(vec![]), None, 1);
    case.pod.status = Some(PodStatus { phase: Some("Running".to_owned()), ..PodStatus::default() });
    assert_eq!(outline(&case.status()), "Pending -: a=ContainerCreating,-,0 b=ContainerCreating,-,0");
    case.previous.reason = Some("Test".to_owned());
    case.observed = in_sandbox(vec![running(&case.pod, "b")]);
    assert_eq!(outline(&case.status()), "Pending Test: a=ContainerCreating,-,0 b=running,-,0");
    case.observed = in_sandbox(vec![running(&case.pod, "a"), running(&case.pod, "b")]);
    assert_eq!(outline(&case.status()), "Running -: a=running,-,0 b=running,-,0");
}

#[test]
fn a_reason_that_only_the_source_knows_is_taken_over_with_its_phase() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    let brought = PodStatus {
        phase: Some("Running".to_owned()),
        reason: Some("TheirReason".to_owned()),
        message: Some("their message".to_owned()),
        ..PodStatus::default()
    };
    case.pod.status = Some(brought);
    case.previous.phase = Some("Running".to_owned());
    let status = case.status();
    assert_eq!(
        (status.reason.as_deref(), status.message.as_deref()),
        (Some("TheirReason"), Some("their message"))
    );
}

#[test]
fn a_pod_whose_time_is_over_has_failed_and_one_that_ended_before_has_not() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    case.observed = in_sandbox(vec![running(&case.pod, "a"), running(&case.pod, "b")]);
    case.previous.start_time = Some(Time(at(0)));
    spec(&mut case.pod).active_deadline_seconds = Some(10);
    assert_eq!(outline(&case.status()), "Running -: a=running,-,0 b=running,-,0");
    spec(&mut case.pod).active_deadline_seconds = Some(9);
    let status = case.status();
    assert_eq!(outline(&status), "Failed DeadlineExceeded: a=running,-,0 b=running,-,0");
    assert_eq!(
        status.message.as_deref(),
        Some("Pod was active on the node longer than the specified deadline")
    );
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    // The reason stays when the containers have ended and the pod is looked at again.
    case.previous = status;
    case.observed = in_sandbox(vec![]);
    let later = case.status();
    assert_eq!((later.phase.as_deref(), later.reason.as_deref()), (Some("Failed"), Some("DeadlineExceeded")));
    let never = pod("Never", &["a"]);
    let mut done = Case::vanished(in_sandbox(vec![exited(&never, "a", 0)]));
    (done.pod, done.previous.start_time) = (never, Some(Time(at(0))));
    spec(&mut done.pod).active_deadline_seconds = Some(1);
    assert_eq!(done.status().phase.as_deref(), Some("Succeeded"));
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
fn a_generation_is_told_as_observed() {
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
fn a_pod_is_on_the_node_since_it_was_told_or_since_its_oldest_sandbox() {
    let pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![running(&pod, "a")]);
    let begun = |seen: &ObservedPod, previous: Option<&PodStatus>, now| {
        generate_of(&pod, seen, previous, now).start_time.map(|time| time.0)
    };
    let nothing = observed(vec![], vec![]);
    assert_eq!(begun(&nothing, None, 5), Some(at(5)));
    assert_eq!(begun(&seen, None, 5), Some(at(0)), "the agent was restarted");
    assert_eq!(begun(&seen, None, -5), Some(at(-5)), "the clock was set back");
    let told = generate_of(&pod, &nothing, None, 5);
    assert_eq!(begun(&seen, Some(&told), 9), Some(at(5)));
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
    let looks = [
        (vec![], "False -"),
        (vec![running(&pod, "a"), running(&pod, "trigger")], "False -"),
        (vec![running(&pod, "a"), exited(&pod, "trigger", 1)], "False -"),
        (vec![running(&pod, "a"), exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![exited(&pod, "a", 137), exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![exited(&pod, "trigger", 42)], "True RestartAllContainersStarted"),
        (vec![], "False -"),
    ];
    for (now, (containers, expected)) in (1..).zip(looks) {
        let status = generate_of(&pod, &in_sandbox(containers), previous.as_ref(), now);
        assert_eq!(condition(&status, "AllContainersRestarting"), expected, "look {now}");
        assert!(!Phase::of(&status).is_some_and(Phase::is_terminal), "look {now}");
        previous = Some(status);
    }
}

/// A pod with an init container, a sidecar, two app containers and an ephemeral one, and containers of it and a stranger
/// in any states.
fn any_observed(pod: &Pod, states: &[(usize, usize, i32)]) -> ObservedPod {
    let names = ["init", "sidecar", "a", "b", "debugger", "stray"];
    let run_states = [
        ContainerRunState::Created,
        ContainerRunState::Running,
        ContainerRunState::Exited,
        ContainerRunState::Unknown,
    ];
    let containers = states.iter().enumerate().map(|(index, (name, state, exit_code))| {
        let count = u32::try_from(states.len() - index).unwrap();
        let mut seen = instance(pod, names[*name], count, run_states[*state]);
        seen.exit_code = *exit_code;
        seen
    });
    in_sandbox(containers.collect())
}

fn of_every_kind(policy: &str) -> Pod {
    use k8s_openapi::api::core::v1::{Container, EphemeralContainer};
    let mut pod = pod(policy, &["a", "b"]);
    let container = |name: &str, restart_policy: Option<&str>| Container {
        name: name.to_owned(),
        restart_policy: restart_policy.map(str::to_owned),
        ..Container::default()
    };
    let debugger = EphemeralContainer { name: "debugger".to_owned(), ..EphemeralContainer::default() };
    let spec = spec(&mut pod);
    spec.init_containers = Some(vec![container("init", None), container("sidecar", Some("Always"))]);
    spec.ephemeral_containers = Some(vec![debugger]);
    pod
}

proptest! {
    #[test]
    fn any_facts_give_a_status_that_keeps_what_was_told(
        looks in prop::collection::vec(
            (prop::collection::vec((0..6usize, 0..4usize, 0..2i32), 0..8), any::<bool>()), 1..5),
        policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")],
    ) {
        let pod = of_every_kind(policy);
        let mut previous: Option<PodStatus> = None;
        for (second, (states, ends)) in (1..).zip(looks) {
            let seen = any_observed(&pod, &states);
            let input = StatusInput {
                pod: &pod, observed: &seen, previous: previous.as_ref(), host_ips: &[], runtime_name: "r",
                recursive_read_only: false, waiting: &BTreeMap::new(), probes: &BTreeMap::new(),
                resize: &ResizeStatus::default(), ends, now: at(second),
            };
            let status = generate(input);
            let phase = Phase::of(&status);
            prop_assert!(phase.is_some());
            let kinds: std::collections::BTreeSet<_> =
                status.conditions.iter().flatten().map(|condition| &condition.type_).collect();
            prop_assert_eq!((kinds.len(), status.conditions.as_ref().map(Vec::len)), (5, Some(5)));
            prop_assert_eq!(status.container_statuses.as_ref().map(Vec::len), Some(2));
            prop_assert_eq!(status.init_container_statuses.as_ref().map(Vec::len), Some(2));
            prop_assert_eq!(status.start_time.as_ref(), Some(&Time(at(0))));
            // The same facts say the same later.
            let again = generate(StatusInput { previous: Some(&status), now: at(second), ..input });
            prop_assert_eq!(check_container_transition(&pod, &status, &again), Ok(()));
            prop_assert_eq!(&generate(StatusInput { previous: Some(&again), now: at(99), ..input }), &again);
            if let Some(before) = &previous {
                prop_assert!(Phase::of(before).is_none_or(|old| !old.is_terminal() || Some(old) == phase));
                for (old, new) in before.container_statuses.iter().flatten().zip(status.container_statuses.iter().flatten()) {
                    prop_assert!(new.restart_count >= old.restart_count);
                }
            }
            let done = terminated(&pod, &status, at(second));
            prop_assert!(Phase::of(&done).is_some_and(Phase::is_terminal));
            previous = Some(status);
        }
    }
}

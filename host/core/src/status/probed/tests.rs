//! Tests of what probes change in a status between two syncs.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, PodCondition,
    PodReadinessGate,
};

use super::*;
use crate::fixtures::{at, pod, spec};
use crate::status::conditions::{CONTAINERS_READY, READY, find};
use ProbeKind::{Liveness, Readiness, Startup};
use ProbeResult::{Failure, Success, Unknown};

fn runs(name: &str, ready: bool) -> ContainerStatus {
    ContainerStatus {
        name: name.to_owned(),
        container_id: Some(format!("containerd://{name}-0")),
        state: Some(ContainerState {
            running: Some(ContainerStateRunning::default()),
            ..ContainerState::default()
        }),
        started: Some(true),
        ready,
        ..ContainerStatus::default()
    }
}

/// A pod with a sidecar `s` and the containers `a` and `b`, and its status, in which only `b` isn't ready.
fn facts() -> (Pod, PodStatus) {
    let mut pod = pod("Always", &["a", "b"]);
    let sidecar =
        Container { name: "s".to_owned(), restart_policy: Some("Always".to_owned()), ..Container::default() };
    spec(&mut pod).init_containers = Some(vec![sidecar]);
    let turned = |kind: &str| PodCondition {
        type_: kind.to_owned(),
        status: "False".to_owned(),
        last_transition_time: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(1))),
        ..PodCondition::default()
    };
    let status = PodStatus {
        phase: Some("Running".to_owned()),
        init_container_statuses: Some(vec![runs("s", true)]),
        container_statuses: Some(vec![runs("a", true), runs("b", false)]),
        conditions: Some(vec![turned("PodScheduled"), turned(READY), turned(CONTAINERS_READY)]),
        ..PodStatus::default()
    };
    (pod, status)
}

fn condition_of(status: &PodStatus, kind: &str) -> (String, String, i64) {
    let condition = find(status, kind).expect("it is there");
    let turned = condition.last_transition_time.as_ref().expect("it has a time").0;
    let message = condition.message.clone().unwrap_or_default();
    (condition.status.clone(), message, turned.duration_since(at(0)).as_secs())
}

#[test]
fn the_last_container_that_gets_ready_makes_its_pod_ready_at_once() {
    let (pod, last) = facts();
    let status = probed(&pod, &last, &"b-0".into(), Readiness, Success, at(9)).expect("it changed");
    assert!(status.container_statuses.as_ref().is_some_and(|all| all.iter().all(|one| one.ready)));
    for kind in [READY, CONTAINERS_READY] {
        assert_eq!(condition_of(&status, kind), ("True".to_owned(), String::new(), 9), "{kind}");
    }
    assert_eq!(condition_of(&status, "PodScheduled").2, 1, "what isn't concerned stays");
}

#[test]
fn a_container_or_sidecar_that_fails_is_named_and_the_pod_was_not_ready_before() {
    let (pod, last) = facts();
    for (id, unready) in [("a-0", "[a b]"), ("s-0", "[s b]")] {
        let status = probed(&pod, &last, &id.into(), Readiness, Failure, at(9)).expect("it changed");
        let message = format!("containers with unready status: {unready}");
        assert_eq!(condition_of(&status, READY), ("False".to_owned(), message, 1), "{id}");
    }
}

#[test]
fn a_closed_readiness_gate_keeps_a_pod_of_ready_containers_from_being_ready() {
    let (mut pod, last) = facts();
    spec(&mut pod).readiness_gates =
        Some(vec![PodReadinessGate { condition_type: "example.com/open".to_owned() }]);
    let status = probed(&pod, &last, &"b-0".into(), Readiness, Success, at(9)).expect("it changed");
    assert_eq!(
        (condition_of(&status, READY).0, condition_of(&status, CONTAINERS_READY).0),
        ("False".into(), "True".into())
    );
}

#[test]
fn startup_is_notified_of_the_container_alone() {
    let (pod, mut last) = facts();
    last.container_statuses.as_mut().expect("there").iter_mut().for_each(|one| one.started = Some(false));
    let status = probed(&pod, &last, &"b-0".into(), Startup, Success, at(9)).expect("it changed");
    let started: Vec<_> = status.container_statuses.iter().flatten().map(|one| one.started).collect();
    assert_eq!(started, [Some(false), Some(true)]);
    assert_eq!(status.conditions, last.conditions);
    let back = probed(&pod, &status, &"b-0".into(), Startup, Unknown, at(9)).expect("it changed");
    assert_eq!(back, last);
}

#[test]
fn nothing_changes_by_what_is_known_or_is_of_no_running_container() {
    let (pod, mut last) = facts();
    let ended =
        ContainerState { terminated: Some(ContainerStateTerminated::default()), ..ContainerState::default() };
    last.container_statuses
        .as_mut()
        .expect("there")
        .push(ContainerStatus { state: Some(ended), ..runs("c", false) });
    let cases = [
        ("a-0", Readiness, Success),
        ("a-0", Startup, Success),
        ("b-0", Readiness, Failure),
        ("b-0", Liveness, Failure),
        ("b-1", Readiness, Success),
        ("c-0", Readiness, Success),
    ];
    for (id, kind, result) in cases {
        assert_eq!(probed(&pod, &last, &id.into(), kind, result, at(9)), None, "{id} {kind:?} {result:?}");
    }
}

#[test]
fn containers_with_probes_that_have_started_are_kept_for_a_restarted_agent() {
    let (mut pod, mut status) = facts();
    let kept = |pod: &Pod, status: &PodStatus| -> Vec<(String, bool)> {
        started_containers(pod, status).into_iter().map(|(id, ready)| (id.to_string(), ready)).collect()
    };
    assert_eq!(kept(&pod, &status), [], "without probes it follows from that they run");
    spec(&mut pod).init_containers.as_mut().unwrap()[0].startup_probe = Some(Default::default());
    spec(&mut pod).containers[0].startup_probe = Some(Default::default());
    spec(&mut pod).containers[1].readiness_probe = Some(Default::default());
    let all = [("a-0", true), ("b-0", false), ("s-0", true)].map(|(id, ready)| (id.to_owned(), ready));
    assert_eq!(kept(&pod, &status), all);
    // One that hasn't started, one that ended, and one that isn't there yet.
    let containers = status.container_statuses.as_mut().unwrap();
    containers[0].started = Some(false);
    let terminated = Some(ContainerStateTerminated::default());
    containers[1].state = Some(ContainerState { terminated, ..ContainerState::default() });
    status.init_container_statuses.as_mut().unwrap()[0].container_id = None;
    assert_eq!(kept(&pod, &status), []);
    assert_eq!(kept(&pod, &PodStatus::default()), []);
}

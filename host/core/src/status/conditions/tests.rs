//! Tests of conditions: what holds, why not, and since when.

use k8s_openapi::api::core::v1::PodReadinessGate;

use super::*;
use crate::fixtures::{at, pod, spec};

fn statuses(ready: &[(&str, bool)]) -> Vec<ContainerStatus> {
    let status = |(name, ready): &(&str, bool)| ContainerStatus {
        name: (*name).to_owned(),
        ready: *ready,
        ..ContainerStatus::default()
    };
    ready.iter().map(status).collect()
}

fn conditions(pod: &Pod, phase: Phase, ready: &[(&str, bool)]) -> Vec<PodCondition> {
    let statuses = statuses(ready);
    generate(ConditionInput {
        pod,
        phase,
        statuses: &statuses,
        has_network: true,
        previous: None,
        now: at(1),
    })
}

/// A condition as `status reason: message`.
fn word(conditions: &[PodCondition], kind: &str) -> String {
    let condition = conditions.iter().find(|condition| condition.type_ == kind).unwrap();
    let reason = condition.reason.as_deref().unwrap_or("-");
    format!("{} {reason}: {}", condition.status, condition.message.as_deref().unwrap_or("-"))
}

#[test]
fn a_running_pod_is_ready_when_all_its_containers_are() {
    let pod = pod("Always", &["a", "b"]);
    let cases: [(&[(&str, bool)], &str); 5] = [
        (&[("a", true), ("b", true)], "True -: -"),
        (&[("a", true), ("b", false)], "False ContainersNotReady: containers with unready status: [b]"),
        (&[("a", false), ("b", false)], "False ContainersNotReady: containers with unready status: [a b]"),
        (&[("b", true)], "False ContainersNotReady: containers with unknown status: [a]"),
        (
            &[("b", false)],
            "False ContainersNotReady: containers with unknown status: [a], containers with unready status: [b]",
        ),
    ];
    for (ready, expected) in cases {
        let conditions = conditions(&pod, Phase::Running, ready);
        assert_eq!(word(&conditions, "ContainersReady"), expected);
        assert_eq!(word(&conditions, "Ready"), expected);
        assert_eq!(word(&conditions, "Initialized"), "True -: -");
        assert_eq!(word(&conditions, "PodScheduled"), "True -: -");
    }
}

#[test]
fn a_terminal_pod_is_never_ready_whatever_its_containers_say() {
    let pod = pod("Never", &["a"]);
    for (phase, expected) in
        [(Phase::Succeeded, "False PodCompleted: -"), (Phase::Failed, "False PodFailed: -")]
    {
        let conditions = conditions(&pod, phase, &[("a", true)]);
        assert_eq!(word(&conditions, "Ready"), expected);
        assert_eq!(word(&conditions, "ContainersReady"), expected);
    }
    assert_eq!(word(&conditions(&pod, Phase::Succeeded, &[]), "Initialized"), "True PodCompleted: -");
}

#[test]
fn the_network_is_a_condition_of_its_own() {
    let pod = pod("Always", &["a"]);
    for (has_network, expected) in [(true, "True -: -"), (false, "False -: -")] {
        let input = ConditionInput {
            pod: &pod,
            phase: Phase::Pending,
            statuses: &[],
            has_network,
            previous: None,
            now: at(1),
        };
        assert_eq!(word(&generate(input), "PodReadyToStartContainers"), expected);
    }
}

#[test]
fn a_condition_keeps_its_time_until_it_turns() {
    let pod = pod("Always", &["a"]);
    let mut previous = PodStatus::default();
    let mut times = Vec::new();
    for (now, ready) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
        let statuses = statuses(&[("a", ready)]);
        let input = ConditionInput {
            pod: &pod,
            phase: Phase::Running,
            statuses: &statuses,
            has_network: true,
            previous: Some(&previous),
            now: at(now),
        };
        let conditions = generate(input);
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
        times.push(ready.last_transition_time.as_ref().unwrap().0.as_second() - at(0).as_second());
        let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled").unwrap();
        assert_eq!(scheduled.last_transition_time, Some(Time(at(1))));
        previous.conditions = Some(conditions);
    }
    assert_eq!(times, [1, 1, 3, 3, 5]);
}

#[test]
fn readiness_gates_hold_a_ready_pod_back_and_their_conditions_stay() {
    let mut pod = pod("Always", &["a"]);
    let gate = PodReadinessGate { condition_type: "example.com/lb".to_owned() };
    spec(&mut pod).readiness_gates = Some(vec![gate]);
    let none = conditions(&pod, Phase::Running, &[("a", true)]);
    assert_eq!(
        word(&none, "Ready"),
        "False ReadinessGatesNotReady: readiness gate example.com/lb has no condition"
    );
    for (status, expected) in [
        ("True", "True -: -"),
        ("False", "False ReadinessGatesNotReady: condition of readiness gate example.com/lb is False"),
    ] {
        let theirs = PodCondition {
            type_: "example.com/lb".to_owned(),
            status: status.to_owned(),
            ..PodCondition::default()
        };
        pod.status = Some(PodStatus { conditions: Some(vec![theirs.clone()]), ..PodStatus::default() });
        let conditions = conditions(&pod, Phase::Running, &[("a", true)]);
        assert_eq!(word(&conditions, "Ready"), expected);
        assert_eq!(word(&conditions, "ContainersReady"), "True -: -");
        assert_eq!(conditions[0], theirs);
    }
}

#[test]
fn a_source_cannot_bring_the_agents_own_conditions() {
    let mut pod = pod("Always", &["a"]);
    let forged =
        PodCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..PodCondition::default() };
    pod.status = Some(PodStatus { conditions: Some(vec![forged]), ..PodStatus::default() });
    let conditions = conditions(&pod, Phase::Running, &[("a", false)]);
    let ready: Vec<_> = conditions.iter().filter(|condition| condition.type_ == "Ready").collect();
    assert_eq!(ready.len(), 1);
    assert_eq!(ready[0].status, "False");
}

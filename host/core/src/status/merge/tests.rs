//! Tests of the merge: what upstream's `TestMergePodStatus` knows, and what must hold for any two statuses.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::*;
use crate::fixtures::at;

fn condition(kind: &str, status: &str, reason: &str) -> PodCondition {
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        last_transition_time: Some(Time(at(1))),
        ..PodCondition::default()
    }
}

/// A running pod that is ready, with further conditions `type status reason`.
fn running(more: &[(&str, &str, &str)]) -> PodStatus {
    let own = [("Ready", "True", ""), ("PodScheduled", "True", "")];
    let conditions = own.iter().chain(more).map(|(kind, status, reason)| condition(kind, status, reason));
    PodStatus {
        phase: Some("Running".to_owned()),
        message: Some("Message".to_owned()),
        conditions: Some(conditions.collect()),
        ..PodStatus::default()
    }
}

fn failed(more: &[(&str, &str, &str)]) -> PodStatus {
    PodStatus { phase: Some("Failed".to_owned()), ..running(more) }
}

/// Phase, reason and conditions in order of their types.
fn show(status: &PodStatus) -> String {
    let mut conditions: Vec<String> = status
        .conditions
        .iter()
        .flatten()
        .map(|c| format!("{} {} {}", c.type_, c.status, c.reason.as_deref().unwrap_or("-")))
        .collect();
    conditions.sort();
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    format!("{} {}: {}", text(&status.phase), text(&status.reason), conditions.join(", "))
}

const EVICTED_BY_API: (&str, &str, &str) = ("DisruptionTarget", "True", "EvictionByEvictionAPI");
const ENDED_BY_NODE: (&str, &str, &str) = ("DisruptionTarget", "True", "TerminationByKubelet");
const FEATURE: (&str, &str, &str) = ("example.com/feature", "True", "");

const READY_AND_RUNNING: &str = "Running -: PodScheduled True -, Ready True -";

/// What is reported of a pod of which the API server has one status and the agent another, while its containers may run or not.
type Case = (&'static str, PodStatus, PodStatus, bool, &'static str);

fn check(cases: &[Case]) {
    for (name, api, agent, may_run, expected) in cases {
        assert_eq!(show(&merge(api, agent, *may_run, at(9))), *expected, "{name}");
    }
}

fn with_reason(status: PodStatus, reason: &str) -> PodStatus {
    PodStatus { reason: Some(reason.to_owned()), ..status }
}

fn not_ready() -> PodStatus {
    let mut status = running(&[]);
    status.conditions.as_mut().unwrap()[0].status = "False".to_owned();
    status
}

#[test]
fn a_disruption_is_reported_only_with_the_end_that_it_brings() {
    let ended = "Failed -: ContainersReady False PodFailed, DisruptionTarget True TerminationByKubelet, \
                 PodScheduled True -, Ready False PodFailed";
    let reported_by_node =
        "Running -: DisruptionTarget True TerminationByKubelet, PodScheduled True -, Ready True -";
    let reported_by_api =
        "Running -: DisruptionTarget True EvictionByEvictionAPI, PodScheduled True -, Ready True -";
    check(&[
        ("with the end", running(&[]), failed(&[ENDED_BY_NODE]), false, ended),
        ("not while containers may run", running(&[]), failed(&[ENDED_BY_NODE]), true, READY_AND_RUNNING),
        ("one that was reported stays", running(&[ENDED_BY_NODE]), running(&[]), false, reported_by_node),
        ("it goes before another's", running(&[EVICTED_BY_API]), failed(&[ENDED_BY_NODE]), false, ended),
        (
            "not while the pod runs",
            running(&[EVICTED_BY_API]),
            running(&[ENDED_BY_NODE]),
            false,
            reported_by_api,
        ),
        (
            "nor while containers may",
            running(&[EVICTED_BY_API]),
            failed(&[ENDED_BY_NODE]),
            true,
            reported_by_api,
        ),
    ]);
}

#[test]
fn conditions_of_others_stay_and_those_of_the_agent_are_its_own() {
    let with_feature = "Running -: PodScheduled True -, Ready True -, example.com/feature True -";
    let unready_with_feature = "Running -: PodScheduled True -, Ready False -, example.com/feature True -";
    let forged = running(&[("example.com/feature", "False", "")]);
    check(&[
        ("nothing changes", running(&[]), running(&[]), false, READY_AND_RUNNING),
        (
            "readiness changes",
            running(&[]),
            not_ready(),
            false,
            "Running -: PodScheduled True -, Ready False -",
        ),
        ("another's condition stays", running(&[FEATURE]), running(&[]), false, with_feature),
        ("also when readiness changes", running(&[FEATURE]), not_ready(), false, unready_with_feature),
        ("and the agent can't change it", running(&[FEATURE]), forged, false, with_feature),
    ]);
}

#[test]
fn an_end_is_reported_when_nothing_can_run_any_more() {
    let ended = "Failed Evicted: ContainersReady False PodFailed, PodScheduled True -, Ready False PodFailed";
    let held_back = "Running Unknown: PodScheduled True -, Ready True -";
    let runs = || with_reason(running(&[]), "Unknown");
    let evicted = || with_reason(failed(&[]), "Evicted");
    check(&[
        ("nothing runs", runs(), evicted(), false, ended),
        ("containers may run", runs(), evicted(), true, held_back),
    ]);
}

#[test]
fn a_disruption_begins_when_it_is_reported() {
    let time =
        |status: &PodStatus| find(status, DISRUPTION_TARGET).and_then(|c| c.last_transition_time.clone());
    assert_eq!(time(&merge(&running(&[]), &failed(&[ENDED_BY_NODE]), false, at(9))), Some(Time(at(9))));
    let reported_before = merge(&running(&[EVICTED_BY_API]), &failed(&[ENDED_BY_NODE]), false, at(9));
    assert_eq!(time(&reported_before), Some(Time(at(1))), "it held already");
}

proptest! {
    #[test]
    fn no_two_statuses_make_a_pod_that_ended_and_is_ready(
        phases in prop::collection::vec(prop_oneof![Just("Pending"), Just("Running"), Just("Succeeded"), Just("Failed")], 2),
        may_run in any::<bool>(),
    ) {
        let [api, agent] = [phases[0], phases[1]].map(|phase| PodStatus { phase: Some(phase.to_owned()), ..running(&[]) });
        let merged = merge(&api, &agent, may_run, at(9));
        let ready = find(&merged, READY).is_some_and(|condition| condition.status == "True");
        prop_assert!(!(ready && Phase::of(&merged).is_some_and(Phase::is_terminal)));
        prop_assert_eq!(merge(&api, &merged, may_run, at(9)), merged);
    }
}

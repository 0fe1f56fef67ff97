//! Tests of the ends of pods: what upstream's `TestTerminatePod` tables know, and ends that the node decides on.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::fixtures::{at, from_file, pod, spec};

const INITS: [&str; 4] = ["w", "x", "y", "z"];

/// A container's state in one letter: `r` runs, `w` waits, `b` waits after a failure, `e` waits after an end with exit code
/// 0, `s` succeeded, `f` failed, `l` has only a last state.
fn statuses(letters: &str, names: &[&str]) -> Vec<ContainerStatus> {
    let ended = |exit_code| {
        let terminated = Some(ContainerStateTerminated { exit_code, ..Default::default() });
        Some(ContainerState { terminated, ..ContainerState::default() })
    };
    let waits = || {
        let waiting = Some(ContainerStateWaiting::default());
        Some(ContainerState { waiting, ..ContainerState::default() })
    };
    let runs = || {
        let running = Some(ContainerStateRunning::default());
        Some(ContainerState { running, ..ContainerState::default() })
    };
    let status = |(letter, name): (char, &&str)| {
        let (state, last_state) = match letter {
            'r' => (runs(), None),
            'w' => (waits(), None),
            'b' => (waits(), ended(1)),
            'e' => (waits(), ended(0)),
            's' => (ended(0), None),
            'f' => (ended(1), None),
            'l' => (Some(ContainerState::default()), ended(0)),
            other => panic!("{other}"),
        };
        let ready = letter == 'r' || letter == 's';
        ContainerStatus { name: (*name).to_owned(), state, last_state, ready, ..Default::default() }
    };
    letters.chars().zip(names).map(status).collect()
}

/// The pod and its last status.
fn facts(phase: Option<&str>, init: &str, apps: &str) -> (Pod, PodStatus) {
    let mut pod = pod("Never", &["a", "b"][..apps.len()]);
    let names = INITS[..init.len()].iter();
    let containers = names.map(|name| Container { name: (*name).to_owned(), ..Container::default() });
    spec(&mut pod).init_containers = Some(containers.collect());
    let last = PodStatus {
        phase: phase.map(str::to_owned),
        init_container_statuses: Some(statuses(init, &INITS)),
        container_statuses: Some(statuses(apps, &["a", "b"])),
        ..PodStatus::default()
    };
    (pod, last)
}

/// How each container ended, by its exit code; `w` for one that still waits, `?` for one that does neither.
fn ends(statuses: &Option<Vec<ContainerStatus>>) -> String {
    let end = |status: &ContainerStatus| match terminated_state(status) {
        Some(ended) if ended.exit_code == 137 => {
            assert_eq!(ended.reason.as_deref(), Some("ContainerStatusUnknown"));
            assert!(ended.message.is_some());
            "137".to_owned()
        }
        Some(ended) => ended.exit_code.to_string(),
        None if is_waiting(status) => "w".to_owned(),
        None => "?".to_owned(),
    };
    statuses.iter().flatten().map(end).collect::<Vec<_>>().join(" ")
}

#[test]
fn containers_that_no_one_saw_end_count_as_killed_unless_the_pod_never_came_to_them() {
    // Last states of init and app containers; their ends.
    let table = [
        ("", "f", "", "1"),
        ("", "b", "", "137"),
        ("", "w", "", "137"),
        ("", "r", "", "137"),
        ("", "rs", "", "137 0"),
        ("w", "w", "137", "w"),
        ("ww", "w", "137 w", "w"),
        ("wwfw", "w", "137 137 1 w", "w"),
        ("wwf", "w", "137 137 1", "w"),
        ("wws", "w", "137 137 0", "137"),
        ("wwe", "w", "137 137 137", "137"),
        ("w", "r", "137", "137"),
        ("w", "s", "137", "0"),
        ("w", "e", "137", "137"),
        ("w", "l", "137", "137"),
        ("b", "w", "137", "w"),
        ("rw", "w", "137 w", "w"),
    ];
    for (init, apps, init_ends, app_ends) in table {
        let (pod, last) = facts(Some("Running"), init, apps);
        let status = terminated(&pod, &last, at(9));
        assert_eq!(ends(&status.init_container_statuses), init_ends, "{init} {apps}");
        assert_eq!(ends(&status.container_statuses), app_ends, "{init} {apps}");
        assert_eq!(status.phase.as_deref(), Some("Failed"));
        assert!(status.container_statuses.iter().flatten().all(|status| !status.ready));
        assert_eq!(terminated(&pod, &status, at(10)), status, "once is enough");
    }
}

#[test]
fn what_was_seen_of_an_end_stays() {
    let (pod, mut last) = facts(Some("Running"), "", "b");
    let status = terminated(&pod, &last, at(9)).container_statuses.unwrap().remove(0);
    assert_eq!(last_terminated_state(&status).map(|ended| ended.exit_code), Some(1));
    last.container_statuses = None;
    assert_eq!(terminated(&pod, &last, at(9)).container_statuses, None, "nothing is made up");
}

#[test]
fn every_pod_ends_in_a_terminal_phase_but_a_static_one_keeps_its_own() {
    let cases = [
        (Some("Succeeded"), "Succeeded", "Succeeded"),
        (Some("Failed"), "Failed", "Failed"),
        (Some("Running"), "Failed", "Running"),
        (Some("Pending"), "Failed", "Pending"),
        (Some("Unknown"), "Failed", "Pending"),
        (Some("SomethingElse"), "Failed", "Pending"),
        (None, "Failed", "Pending"),
    ];
    for (before, expected, expected_static) in cases {
        let (pod, last) = facts(before, "", "w");
        let end = |pod: &Pod| terminated(pod, &last, at(9)).phase.unwrap();
        assert_eq!(end(&pod), expected, "{before:?}");
        assert_eq!(end(&from_file(pod)), expected_static, "{before:?}");
    }
}

#[test]
fn an_init_container_that_is_done_stays_ready_after_the_end() {
    let (pod, last) = facts(Some("Running"), "s", "r");
    let status = terminated(&pod, &last, at(9));
    let ready = |statuses: &Option<Vec<ContainerStatus>>| statuses.as_ref().unwrap()[0].ready;
    assert!(ready(&status.init_container_statuses) && !ready(&status.container_statuses));
}

#[test]
fn a_pod_that_the_node_ends_has_failed_for_the_nodes_reason() {
    let (mut pod, mut last) = facts(Some("Running"), "", "r");
    pod.metadata.generation = Some(3);
    last.start_time = Some(Time(at(1)));
    let end = NodeEnd {
        reason: "Terminated".to_owned(),
        message: "The node shuts down. ".to_owned(),
        condition_message: Some("It uses more than it asked for".to_owned()),
    };
    let status = ended_by_node(&pod, &last, &end, at(9));
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(
        (status.reason.clone(), status.message.clone()),
        (Some(end.reason.clone()), Some(end.message.clone()))
    );
    assert_eq!(status.start_time, last.start_time);
    let target = conditions::find(&status, DISRUPTION_TARGET).unwrap();
    assert_eq!((target.status.as_str(), target.reason.as_deref()), ("True", Some("TerminationByKubelet")));
    assert_eq!(target.message, end.condition_message.clone());
    assert!(is_ended_by_node(&status) && !is_ended_by_node(&last));
    let of_others = |change: fn(&mut PodCondition)| {
        let mut status = status.clone();
        status.conditions.iter_mut().flatten().filter(|c| c.type_ == DISRUPTION_TARGET).for_each(change);
        is_ended_by_node(&status)
    };
    assert!(!of_others(|target| target.reason = Some("EvictionByEvictionAPI".to_owned())));
    assert!(!of_others(|target| target.status = "False".to_owned()));
    assert_eq!(
        (target.observed_generation, target.last_transition_time.clone()),
        (Some(3), Some(Time(at(9))))
    );
    let ready = conditions::find(&status, "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_deref()), ("False", Some("PodFailed")));
    // It still runs: its containers end with the work that follows.
    assert_eq!(ends(&status.container_statuses), "?");
    let again = ended_by_node(&pod, &status, &end, at(20));
    assert_eq!(again, status);
    assert_eq!(NodeEnd::of(&status), Some(end));
    assert_eq!(NodeEnd::of(&last), None);
}

#[test]
fn an_evicted_pod_is_known_by_its_reason_and_may_have_no_condition_of_a_disruption() {
    let (pod, last) = facts(Some("Running"), "", "r");
    let end = NodeEnd { reason: "Evicted".to_owned(), message: "m".to_owned(), condition_message: None };
    let status = ended_by_node(&pod, &last, &end, at(9));
    assert!(conditions::find(&status, DISRUPTION_TARGET).is_none());
    assert!(is_evicted(&status) && is_ended_by_node(&status));
    assert_eq!(NodeEnd::of(&status), Some(end));
    let running = PodStatus { phase: Some("Running".to_owned()), ..status };
    assert!(!is_evicted(&running) && !is_ended_by_node(&running));
    assert_eq!(NodeEnd::of(&running), None);
}

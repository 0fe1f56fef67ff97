//! Starts: restart counts that outlive what the runtime knows, and delays of containers of every kind.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    PodStatus,
};

use super::{NOW, language, plan_with, render};
use crate::container::backoff::{BackoffKey, BackoffTable, CRASH};
use crate::container::plan::{
    ContainerKind, PlanInput, container_named, is_restartable, known_restart_counts, plan,
};
use crate::fixtures::at;
use crate::probe::ProbeResults;

fn terminated(reason: &str) -> ContainerState {
    let terminated =
        ContainerStateTerminated { reason: Some(reason.to_owned()), ..ContainerStateTerminated::default() };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn running() -> ContainerState {
    ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() }
}

fn waiting() -> ContainerState {
    ContainerState { waiting: Some(ContainerStateWaiting::default()), ..ContainerState::default() }
}

#[test]
fn a_status_tells_the_count_of_the_last_instance_that_there_was() {
    let none = ContainerState::default;
    let cases = [
        ("it runs", running(), none(), Some("id"), 3, Some(3)),
        ("it ended", terminated("Error"), none(), Some("id"), 3, Some(3)),
        ("it is of unknown state", terminated("ContainerStatusUnknown"), none(), Some("id"), 3, Some(2)),
        ("it never was", waiting(), none(), None, 0, None),
        ("it waits after a crash", waiting(), terminated("Error"), Some("id"), 3, Some(3)),
        ("it waits, and its instance was removed", waiting(), terminated("Error"), None, 3, Some(3)),
        (
            "it got lost, which counts as a restart",
            waiting(),
            terminated("ContainerStatusUnknown"),
            None,
            3,
            Some(2),
        ),
        ("all begin again, the same", waiting(), terminated("RestartingAllContainers"), None, 3, Some(2)),
        ("nothing is said of it", none(), none(), None, 0, None),
    ];
    for (claim, state, last_state, id, restart_count, expected) in cases {
        let status = ContainerStatus {
            name: "x".to_owned(),
            state: Some(state),
            last_state: Some(last_state),
            container_id: id.map(str::to_owned),
            restart_count,
            ..ContainerStatus::default()
        };
        let lists: [fn(ContainerStatus) -> PodStatus; 3] = [
            |status| PodStatus { container_statuses: Some(vec![status]), ..PodStatus::default() },
            |status| PodStatus { init_container_statuses: Some(vec![status]), ..PodStatus::default() },
            |status| PodStatus { ephemeral_container_statuses: Some(vec![status]), ..PodStatus::default() },
        ];
        for list in lists {
            let counts = known_restart_counts(&list(status.clone()));
            assert_eq!(counts.get("x").copied(), expected, "{claim}");
        }
    }
}

#[test]
fn a_count_goes_on_from_the_highest_that_is_known() {
    let pod = language::pod("Always i:one a:x");
    let start = |seen: &str, known: &[(&str, u32)]| {
        let (observed, probes) = language::seen(&pod, seen);
        let restart_counts = known.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let input = PlanInput {
            pod: &pod,
            observed: &observed,
            backoff: &BackoffTable::new(CRASH),
            probes: &probes,
            restart_counts: &restart_counts,
            resize: None,
            now: at(NOW),
        };
        render(&plan(input)).pop().unwrap()
    };
    assert_eq!(start("ready", &[]), "start one #0");
    assert_eq!(start("ready", &[("one", 0)]), "start one #1", "it was purged");
    assert_eq!(start("ready", &[("one", 4)]), "start one #5");
    assert_eq!(start("ready one#6=exit1", &[("one", 4)]), "start one #7");
    assert_eq!(start("ready one=exit0", &[("x", 2)]), "start x #3");
    assert_eq!(start("ready one=exit0", &[("x", u32::MAX)]), format!("start x #{}", u32::MAX));
}

#[test]
fn crashed_containers_of_every_kind_wait_for_their_delay() {
    let cases = [
        ("one", ContainerKind::Init, "Always i:one a:x", "ready one=exit1", "start one #1"),
        ("side", ContainerKind::Sidecar, "Never s:side a:x", "ready side=exit1 x=running", "start side #1"),
        ("x", ContainerKind::App, "OnFailure a:x", "ready x=exit1", "start x #1"),
    ];
    for (name, kind, text, seen, start) in cases {
        let pod = language::pod(text);
        let (seen, _) = language::seen(&pod, seen);
        let found = container_named(&pod, name).unwrap();
        assert_eq!(found.kind, kind);
        let mut backoff = BackoffTable::new(CRASH);
        let plan_at =
            |backoff: &BackoffTable, now| plan_with(&pod, &seen, &ProbeResults::new(), backoff, now);
        assert_eq!(render(&plan_at(&backoff, 101)), [start], "the first crash has no delay");
        backoff.record(BackoffKey::of(&pod, &found.container), at(90), at(95));
        let waiting = plan_at(&backoff, 105);
        assert_eq!(render(&waiting), [format!("wait {name} 10s")]);
        assert!(!waiting.acts());
        assert_eq!(waiting.retry_at(), Some(at(110)));
        let over = plan_at(&backoff, 110);
        assert_eq!(render(&over), [start]);
        assert!(over.acts());
    }
}

#[test]
fn a_container_is_restartable_if_any_end_has_it_run_again() {
    let cases = [
        ("Never a:x", false),
        ("Always a:x", true),
        ("OnFailure a:x", true),
        ("Always a:x:Never", false),
        ("Never a:x:OnFailure", true),
        ("Never a:x:Never:in42=restart", true),
        ("Never a:x:Never:in42=all", true),
        ("Never a:x:Never:in42=Sleep", false),
        ("Never s:x a:y", true),
    ];
    for (pod, expected) in cases {
        let made = language::pod(pod);
        let found = container_named(&made, "x").unwrap();
        assert_eq!(is_restartable(&made, &found.container), expected, "{pod}");
    }
    assert_eq!(known_restart_counts(&PodStatus::default()), BTreeMap::new());
}

#[test]
fn only_an_init_container_that_does_not_start_holds_the_others_up() {
    let kinds = [ContainerKind::Init, ContainerKind::Sidecar, ContainerKind::App, ContainerKind::Ephemeral];
    assert_eq!(kinds.map(ContainerKind::failed_start_ends_plan), [true, false, false, false]);
    assert_eq!(kinds.map(ContainerKind::is_resizable), [false, true, true, false]);
}

//! Tests of the phase: states of containers under each policy, in a table.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
};
use proptest::prelude::*;

use super::*;
use crate::fixtures::{from_file, pod};
use Phase::{Failed, Pending, Running, Succeeded};

/// A container's state in one letter: `r` runs, `w` waits, `b` waits after an end (back-off), `s` succeeded, `f` failed,
/// `?` has no state, `-` has no status at all.
fn statuses(letters: &str) -> Vec<ContainerStatus> {
    let ended = |exit_code| ContainerState {
        terminated: Some(ContainerStateTerminated { exit_code, ..Default::default() }),
        ..Default::default()
    };
    let waits = || ContainerState { waiting: Some(ContainerStateWaiting::default()), ..Default::default() };
    let runs = || ContainerState { running: Some(ContainerStateRunning::default()), ..Default::default() };
    let states = letters.chars().enumerate().filter_map(|(index, letter)| {
        let (state, last_state) = match letter {
            'r' => (Some(runs()), None),
            'w' => (Some(waits()), None),
            'b' => (Some(waits()), Some(ended(1))),
            's' => (Some(ended(0)), None),
            'f' => (Some(ended(1)), None),
            '?' => (Some(ContainerState::default()), None),
            _ => return None,
        };
        Some(ContainerStatus { name: NAMES[index].to_owned(), state, last_state, ..Default::default() })
    });
    states.collect()
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn phase(policy: &str, letters: &str, ends: bool) -> Phase {
    of_containers(&pod(policy, &NAMES[..letters.len()]), &statuses(letters), ends)
}

#[test]
fn the_phase_follows_from_policy_and_states() {
    // States, then the phase under Always, OnFailure and Never.
    let table = [
        ("--", Pending, Pending, Pending),
        ("??", Pending, Pending, Pending),
        ("ww", Pending, Pending, Pending),
        ("rr", Running, Running, Running),
        ("rw", Pending, Pending, Pending),
        ("r-", Pending, Pending, Pending),
        ("r?", Pending, Pending, Pending),
        ("rs", Running, Running, Running),
        ("rf", Running, Running, Running),
        ("rb", Running, Running, Running),
        ("ss", Running, Succeeded, Succeeded),
        ("sf", Running, Running, Failed),
        ("ff", Running, Running, Failed),
        ("s-", Pending, Pending, Pending),
        ("sw", Pending, Pending, Pending),
        ("fw", Pending, Pending, Pending),
        ("bb", Running, Running, Failed),
        ("bs", Running, Running, Failed),
        ("bw", Pending, Pending, Pending),
        ("b-", Pending, Pending, Pending),
        ("s", Running, Succeeded, Succeeded),
        ("f", Running, Running, Failed),
        ("r", Running, Running, Running),
        ("b", Running, Running, Failed),
        ("w", Pending, Pending, Pending),
    ];
    for (letters, always, on_failure, never) in table {
        let phases = ["Always", "OnFailure", "Never"].map(|policy| phase(policy, letters, false));
        assert_eq!(phases, [always, on_failure, never], "{letters}");
    }
}

#[test]
fn a_pod_that_ends_takes_a_terminal_phase_once_all_its_containers_have() {
    let table = [
        ("ss", Succeeded),
        ("sf", Failed),
        ("bs", Failed),
        ("rs", Running),
        ("ws", Pending),
        ("-s", Pending),
    ];
    for (letters, expected) in table {
        assert_eq!(phase("Always", letters, true), expected, "{letters}");
    }
}

#[test]
fn a_static_pod_that_ends_keeps_the_phase_that_its_policy_gives() {
    for (policy, expected) in [("Always", Running), ("OnFailure", Running), ("Never", Failed)] {
        let pod = from_file(pod(policy, &NAMES[..2]));
        assert_eq!(of_containers(&pod, &statuses("sf"), true), expected, "{policy}");
    }
}

#[test]
fn only_the_phases_of_the_api_are_read() {
    for phase in [Pending, Running, Succeeded, Failed] {
        let status = PodStatus { phase: Some(phase.as_str().to_owned()), ..Default::default() };
        assert_eq!(Phase::of(&status), Some(phase));
    }
    assert_eq!(Phase::of(&PodStatus { phase: Some("Unknown".to_owned()), ..Default::default() }), None);
    assert_eq!(Phase::of(&PodStatus::default()), None);
}

proptest! {
    #[test]
    fn what_still_runs_is_never_terminal(letters in "[rwbsf?-]{1,3}", ends in any::<bool>(),
                                         policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")]) {
        let phase = phase(policy, &letters, ends);
        prop_assert!(!(letters.contains('r') && phase.is_terminal()));
        prop_assert!(phase != Succeeded || letters.chars().all(|letter| letter == 's'));
        prop_assert!(phase != Running || !letters.contains('w'));
    }
}

//! Tests of the phase: states of containers under each policy, in tables. What upstream's `getPhase` tables know is among
//! them (`tests/upstream.md`).

use k8s_openapi::api::core::v1::{
    ContainerRestartRule, ContainerRestartRuleOnExitCodes, ContainerStateRunning, ContainerStateWaiting,
};
use proptest::prelude::*;

use super::*;
use crate::fixtures::{from_file, pod, spec};
use Phase::{Failed, Pending, Running, Succeeded};

const APPS: [&str; 3] = ["a", "b", "c"];
const INITS: [&str; 3] = ["x", "y", "z"];

/// A container's state in one letter: `r` runs, `R` runs and has started, `w` waits, `b` waits after a failure (back-off),
/// `e` waits after an end with exit code 0, `s` succeeded, `f` failed, `4` ended with 42, `k` was removed as all containers
/// restart, `?` has no state, `-` has no status at all.
fn status(name: &str, letter: char) -> Option<ContainerStatus> {
    let ended_for = |exit_code, reason: &str| ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code,
            reason: Some(reason.to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let ended = |exit_code| ended_for(exit_code, "Error");
    let waits = || ContainerState { waiting: Some(ContainerStateWaiting::default()), ..Default::default() };
    let runs = || ContainerState { running: Some(ContainerStateRunning::default()), ..Default::default() };
    let (state, last_state) = match letter {
        'r' | 'R' => (Some(runs()), None),
        'w' => (Some(waits()), None),
        'b' => (Some(waits()), Some(ended(1))),
        'e' => (Some(waits()), Some(ended(0))),
        's' => (Some(ended(0)), None),
        'f' => (Some(ended(1)), None),
        '4' => (Some(ended(42)), None),
        'k' => (Some(waits()), Some(ended_for(137, RESTARTING_ALL_CONTAINERS))),
        '?' => (Some(ContainerState::default()), None),
        _ => return None,
    };
    let started = Some(letter == 'R');
    Some(ContainerStatus { name: name.to_owned(), state, last_state, started, ..Default::default() })
}

/// A pod whose init containers are plain (`i`) or sidecars (`c`).
fn with_init(policy: &str, kinds: &str, apps: usize) -> Pod {
    let mut pod = pod(policy, &APPS[..apps]);
    let init = kinds.chars().zip(INITS).map(|(kind, name)| Container {
        name: name.to_owned(),
        restart_policy: (kind == 'c').then(|| "Always".to_owned()),
        ..Container::default()
    });
    spec(&mut pod).init_containers = Some(init.collect());
    pod
}

/// The phase of a pod whose init and app containers are in these states. It counts as initialised if an app container has
/// run.
fn phase_of(pod: &Pod, init: &str, apps: &str, ends: bool) -> Phase {
    phase_with(pod, init, apps, ends, apps.contains(['r', 'R', 's', 'f', '4']))
}

fn phase_with(pod: &Pod, init: &str, apps: &str, ends: bool, has_initialized: bool) -> Phase {
    let of = |letters: &str, names: [&str; 3]| -> Vec<ContainerStatus> {
        letters.chars().zip(names).filter_map(|(letter, name)| status(name, letter)).collect()
    };
    let all = [of(init, INITS), of(apps, APPS)].concat();
    let statuses: Vec<&ContainerStatus> = all.iter().collect();
    of_containers(PhaseInput { pod, statuses: &statuses, ends, has_initialized })
}

fn phase(policy: &str, letters: &str, ends: bool) -> Phase {
    phase_of(&pod(policy, &APPS[..letters.len()]), "", letters, ends)
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
        ("re", Running, Running, Running),
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
fn init_containers_come_before_the_pod_runs() {
    // States of the init container and of two app containers; the phase under Always and under Never.
    let table = [
        ("-", "--", Pending, Pending),
        ("r", "--", Pending, Pending),
        ("f", "--", Pending, Failed),
        ("e", "--", Pending, Pending),
        ("b", "--", Pending, Failed),
        ("w", "--", Pending, Pending),
        ("?", "--", Pending, Pending),
        ("w", "ww", Pending, Pending),
        ("f", "ww", Pending, Failed),
        ("b", "ww", Pending, Failed),
        ("s", "ww", Pending, Pending),
        ("s", "rr", Running, Running),
        ("s", "ss", Running, Succeeded),
        ("s", "sf", Running, Failed),
    ];
    for (init, apps, always, never) in table {
        let phases =
            ["Always", "Never"].map(|policy| phase_of(&with_init(policy, "i", 2), init, apps, false));
        assert_eq!(phases, [always, never], "{init} {apps}");
    }
}

#[test]
fn a_sidecar_has_to_start_before_the_pod_runs_and_its_end_says_nothing() {
    // States of the sidecar and of two app containers; the phase under Always and under Never.
    let table = [
        ("-", "--", Pending, Pending),
        ("r", "--", Pending, Pending),
        ("s", "--", Pending, Pending),
        ("e", "--", Pending, Pending),
        ("b", "--", Pending, Pending),
        ("w", "--", Pending, Pending),
        ("?", "--", Pending, Pending),
        ("R", "r-", Pending, Pending),
        ("R", "rr", Running, Running),
        ("r", "rr", Running, Running),
        ("s", "rr", Running, Running),
        ("e", "rr", Running, Running),
        ("b", "rr", Running, Running),
        ("R", "ss", Running, Running),
        ("r", "ss", Running, Running),
        ("s", "ss", Running, Succeeded),
        ("f", "ss", Running, Succeeded),
        ("e", "ss", Running, Succeeded),
        ("b", "ss", Running, Succeeded),
        ("f", "sf", Running, Failed),
    ];
    for (sidecar, apps, always, never) in table {
        let phases =
            ["Always", "Never"].map(|policy| phase_of(&with_init(policy, "c", 2), sidecar, apps, false));
        assert_eq!(phases, [always, never], "{sidecar} {apps}");
    }
}

#[test]
fn a_pod_that_has_run_is_set_back_by_init_containers_but_not_by_sidecars() {
    // States of an init container and a sidecar, of an app container, and whether it is one of this sandbox.
    let table = [
        ("rr", "r", true, Pending),
        ("rr", "s", true, Pending),
        ("sr", "s", true, Running),
        ("sr", "r", true, Running),
        ("sr", "r", false, Pending),
        ("sR", "r", false, Running),
        ("sb", "r", true, Running),
        ("sw", "r", true, Pending),
    ];
    for (init, app, has_initialized, expected) in table {
        let pod = with_init("Always", "ic", 1);
        assert_eq!(phase_with(&pod, init, app, false, has_initialized), expected, "{init} {app}");
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
    for (sidecar, expected) in [("f", Succeeded), ("s", Succeeded), ("R", Running)] {
        let pod = with_init("Always", "c", 2);
        assert_eq!(phase_of(&pod, sidecar, "ss", true), expected, "sidecar {sidecar}");
    }
}

#[test]
fn a_static_pod_that_ends_keeps_the_phase_that_its_policy_gives() {
    for (policy, expected) in [("Always", Running), ("OnFailure", Running), ("Never", Failed)] {
        let pod = from_file(pod(policy, &APPS[..2]));
        assert_eq!(phase_of(&pod, "", "sf", true), expected, "{policy}");
    }
}

/// A rule for exit code 42.
fn rule(action: &str, operator: &str) -> Option<Vec<ContainerRestartRule>> {
    let codes = ContainerRestartRuleOnExitCodes { operator: operator.to_owned(), values: Some(vec![42]) };
    Some(vec![ContainerRestartRule { action: action.to_owned(), exit_codes: Some(codes) }])
}

#[test]
fn a_containers_own_policy_and_rules_go_before_its_pods() {
    // The pod's policy, the container's, the operator of its rule for 42, its state, the phase.
    let table = [
        ("Never", Some("Always"), None, "s", Running),
        ("Never", Some("Always"), None, "f", Running),
        ("Never", Some("OnFailure"), None, "f", Running),
        ("Never", Some("OnFailure"), None, "s", Succeeded),
        ("Never", Some("Never"), Some("In"), "4", Running),
        ("Never", Some("Never"), Some("In"), "f", Failed),
        ("Never", Some("Never"), Some("In"), "s", Succeeded),
        ("Never", Some("Never"), Some("NotIn"), "f", Running),
        ("Never", Some("Never"), Some("NotIn"), "4", Failed),
        ("Never", Some("Never"), Some("In"), "b", Failed),
        ("Always", Some("Never"), None, "s", Succeeded),
        ("Always", Some("Never"), None, "f", Failed),
        ("Always", Some("Never"), None, "b", Failed),
        ("Always", Some("OnFailure"), None, "s", Succeeded),
        ("Always", Some("OnFailure"), None, "f", Running),
        ("OnFailure", Some("Never"), None, "f", Failed),
        ("OnFailure", Some("Always"), None, "s", Running),
        ("Never", None, Some("In"), "4", Failed),
    ];
    for (pods, own, operator, letter, expected) in table {
        let mut pod = pod(pods, &["a"]);
        let container = &mut spec(&mut pod).containers[0];
        container.restart_policy = own.map(str::to_owned);
        container.restart_policy_rules = operator.and_then(|operator| rule("Restart", operator));
        assert_eq!(phase_of(&pod, "", letter, false), expected, "{pods} {own:?} {operator:?} {letter}");
    }
}

#[test]
fn one_container_that_restarts_keeps_a_pod_of_others_that_do_not_from_its_end() {
    let mut pod = pod("Never", &["a", "b"]);
    spec(&mut pod).containers[0].restart_policy = Some("Always".to_owned());
    assert_eq!(phase_of(&pod, "", "sf", false), Running);
    assert_eq!(phase_of(&pod, "", "sf", true), Failed);
}

#[test]
fn an_init_container_fails_its_pod_only_if_nothing_restarts_it() {
    // The pod's policy, the init container's, the operator of its rule, its state, the phase.
    let table = [
        ("Never", Some("Never"), Some("In"), "4", Pending),
        ("Never", Some("Never"), Some("In"), "f", Failed),
        ("Never", Some("OnFailure"), None, "f", Pending),
        ("Always", Some("Never"), None, "f", Failed),
        ("OnFailure", None, None, "f", Pending),
        ("OnFailure", None, None, "b", Pending),
    ];
    for (pods, own, operator, letter, expected) in table {
        let mut pod = with_init(pods, "i", 1);
        let init = &mut spec(&mut pod).init_containers.as_mut().unwrap()[0];
        init.restart_policy = own.map(str::to_owned);
        init.restart_policy_rules = operator.and_then(|operator| rule("Restart", operator));
        assert_eq!(phase_of(&pod, letter, "w", false), expected, "{pods} {own:?} {operator:?} {letter}");
    }
}

#[test]
fn a_pod_whose_containers_are_all_restarted_is_not_at_its_end() {
    let mut pod = with_init("Never", "i", 2);
    spec(&mut pod).containers[1].restart_policy = Some("Never".to_owned());
    spec(&mut pod).containers[1].restart_policy_rules = rule("RestartAllContainers", "In");
    for (init, apps, expected) in [
        ("s", "r4", Running),
        ("s", "s4", Running),
        ("s", "kk", Running),
        ("k", "kk", Running),
        ("w", "kk", Pending),
    ] {
        assert_eq!(phase_of(&pod, init, apps, false), expected, "{init} {apps}");
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
    fn what_still_runs_is_never_terminal(letters in "[rRwbesf?-]{1,3}", sidecar in "[rRwbesf?-]", ends in any::<bool>(),
                                         policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")]) {
        let phase = phase_of(&with_init(policy, "c", letters.len()), &sidecar, &letters, ends);
        let runs = |letters: &str| letters.contains(['r', 'R']);
        prop_assert!(!((runs(&letters) || runs(&sidecar)) && phase.is_terminal()));
        prop_assert!(phase != Succeeded || letters.chars().all(|letter| letter == 's'));
        prop_assert!(phase != Running || !letters.contains('w'));
    }
}

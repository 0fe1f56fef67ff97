//! The worker's rules, case by case as upstream's `worker_test.go` has them, and for any sequence of facts.

use proptest::prelude::*;

use super::*;
use crate::fixtures::at;
use ProbeKind::{Liveness, Readiness, Startup};
use ProbeResult::{Failure, Success, Unknown};

/// The agent began when the tests did.
const AGENT_START: i64 = 0;
/// Ticks come this much later.
const NOW: i64 = 1_000;

fn settings(success_threshold: u32, failure_threshold: u32) -> ProbeSettings {
    ProbeSettings {
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        initial_delay: Duration::ZERO,
        success_threshold,
        failure_threshold,
    }
}

fn pod(id: &str, state: ProbedState, is_started: bool) -> ProbedPod {
    let container = ProbedContainer { id: id.into(), state, is_started };
    ProbedPod { is_terminal: false, is_deleted: false, container: Some(container) }
}

fn running(id: &str, is_started: bool) -> ProbedPod {
    pod(id, ProbedState::Running { since: Some(at(NOW - 50)) }, is_started)
}

/// A worker and the result that it has brought about.
struct Bench {
    worker: ProbeWorker,
    settings: ProbeSettings,
    result: Option<ProbeResult>,
}

impl Bench {
    fn new(kind: ProbeKind, settings: ProbeSettings) -> Self {
        Self { worker: ProbeWorker::new(kind, false), settings, result: None }
    }

    fn sidecar(kind: ProbeKind) -> Self {
        Self { worker: ProbeWorker::new(kind, true), settings: settings(1, 1), result: None }
    }

    fn tick(&mut self, pod: &ProbedPod) -> Next {
        let tick = self.worker.tick(&self.settings, Some(pod), at(AGENT_START), at(NOW));
        if tick.forget.is_some() {
            self.result = None;
        }
        self.result = tick.set.or(self.result);
        tick.next
    }

    /// A tick, and the probe if that wants one.
    fn round(&mut self, pod: &ProbedPod, passes: bool) -> (Next, Option<ProbeResult>) {
        let next = self.tick(pod);
        if next == Next::Probe {
            self.result = self.worker.found(&self.settings, passes).or(self.result);
        }
        (next, self.result)
    }
}

#[test]
fn each_state_of_the_pod_leads_to_one_action() {
    let absent = ProbedPod { is_terminal: false, is_deleted: false, container: None };
    let terminal = ProbedPod { is_terminal: true, ..running("c1", true) };
    let deleted = ProbedPod { is_deleted: true, ..running("c1", true) };
    let waiting = pod("c1", ProbedState::Waiting, false);
    let ended = pod("c1", ProbedState::Ended { restarts: false }, false);
    let restarts = pod("c1", ProbedState::Ended { restarts: true }, false);
    // What it sees → what liveness, readiness and startup do, and the results then.
    type Expected = [(Next, Option<ProbeResult>); 3];
    let cases: [(&str, &ProbedPod, Expected); 8] = [
        ("no container", &absent, [(Next::Wait, None); 3]),
        ("phase Failed", &terminal, [(Next::Stop, None); 3]),
        ("waiting", &waiting, [(Next::Wait, Some(Failure)); 3]),
        ("ended for good", &ended, [(Next::Stop, Some(Failure)); 3]),
        ("ended, to run again", &restarts, [(Next::Wait, Some(Failure)); 3]),
        (
            "running and started",
            &running("c1", true),
            [(Next::Probe, Some(Success)), (Next::Probe, Some(Failure)), (Next::Wait, Some(Unknown))],
        ),
        (
            "running, not started",
            &running("c1", false),
            [(Next::Wait, Some(Success)), (Next::Wait, Some(Failure)), (Next::Probe, Some(Unknown))],
        ),
        (
            "deleted",
            &deleted,
            [(Next::Stop, Some(Success)), (Next::Probe, Some(Failure)), (Next::Stop, Some(Success))],
        ),
    ];
    for (name, pod, expected) in cases {
        for (kind, expected) in [Liveness, Readiness, Startup].into_iter().zip(expected) {
            let mut bench = Bench::new(kind, settings(1, 1));
            let next = bench.tick(pod);
            assert_eq!((next, bench.result), expected, "{name}, {kind:?}");
        }
    }
}

#[test]
fn without_a_status_nothing_is_known_or_done() {
    for kind in ProbeKind::ALL {
        let mut worker = ProbeWorker::new(kind, false);
        let tick = worker.tick(&settings(1, 1), None, at(AGENT_START), at(NOW));
        assert_eq!(tick, Tick { forget: None, set: None, next: Next::Wait });
        assert_eq!(worker.container(), None);
    }
}

#[test]
fn nothing_is_probed_before_the_initial_delay_is_over() {
    // Seconds that it ran, in tenths → whether it is probed with a delay of 10 s.
    let cases = [(0, false), (95, false), (99, false), (100, true), (1_000, true), (-50, true)];
    for (tenths, probed) in cases {
        for (kind, first) in [(Liveness, Success), (Readiness, Failure)] {
            let delayed = ProbeSettings { initial_delay: Duration::from_secs(10), ..settings(1, 1) };
            let mut bench = Bench::new(kind, delayed);
            let since = at(NOW) - jiff::SignedDuration::from_millis(tenths * 100);
            let next = bench.tick(&pod("c1", ProbedState::Running { since: Some(since) }, true));
            assert_eq!(next == Next::Probe, probed, "{tenths} tenths of a second, {kind:?}");
            assert_eq!(bench.result, Some(first));
        }
    }
    let delayed = ProbeSettings { initial_delay: Duration::from_secs(10), ..settings(1, 1) };
    let unknown = pod("c1", ProbedState::Running { since: None }, true);
    assert_eq!(Bench::new(Liveness, delayed).tick(&unknown), Next::Probe, "a runtime that doesn't say");
}

#[test]
fn another_check_counts_again_and_the_result_stands_until_it_has_a_verdict() {
    // What the old check found, then the new one → the results after each of the new ones.
    let cases = [
        (Readiness, "+", "---", "SSF"),
        (Readiness, "++--", "--", "SS"),
        (Readiness, "---", "+", "S"),
        (Liveness, "--", "--+", "SSS"),
    ];
    for (kind, old, new, expected) in cases {
        let mut bench = Bench::new(kind, settings(1, 3));
        for found in old.chars() {
            bench.round(&running("c1", true), found == '+');
        }
        bench.worker.begin_again();
        let results: String = new
            .chars()
            .map(|found| match bench.round(&running("c1", true), found == '+').1 {
                Some(Success) => 'S',
                Some(Failure) => 'F',
                Some(Unknown) | None => '?',
            })
            .collect();
        assert_eq!(results, expected, "{kind:?} {old} then {new}");
    }
    let mut dying = Bench::new(Liveness, settings(1, 1));
    dying.round(&running("c1", true), false);
    dying.worker.begin_again();
    assert_eq!(
        dying.tick(&running("c1", true)),
        Next::Wait,
        "what is about to be killed isn't probed any more"
    );
    assert_eq!(dying.result, Some(Failure));
}

#[test]
fn results_change_once_the_threshold_is_reached() {
    // Kind, thresholds, started; what each probe finds (+ passes, - fails) → the results after each (S, F, U).
    let cases = [
        (Readiness, (1, 3), "+++--+---+", "SSSSSSSSFS"),
        (Readiness, (3, 1), "++++-+++", "FFSSFFFS"),
        (Readiness, (1, 3), "-----", "FFFFF"),
        (Liveness, (1, 3), "--+--+", "SSSSSS"),
        (Liveness, (1, 3), "---", "SSF"),
        (Startup, (1, 3), "--+", "UUS"),
        (Startup, (1, 3), "---", "UUF"),
        (Startup, (3, 1), "++", "UU"),
        (Startup, (3, 1), "+++", "UUS"),
        (Startup, (3, 1), "-", "F"),
    ];
    for (kind, (successes, failures), found, expected) in cases {
        let mut bench = Bench::new(kind, settings(successes, failures));
        let seen = running("c1", kind != Startup);
        let results: String = found
            .chars()
            .map(|found| match bench.round(&seen, found == '+').1 {
                Some(Success) => 'S',
                Some(Failure) => 'F',
                Some(Unknown) => 'U',
                None => '-',
            })
            .collect();
        assert_eq!(results, expected, "{kind:?} {successes}/{failures}: {found}");
    }
}

#[test]
fn an_instance_that_is_to_be_killed_or_has_started_is_left_alone_until_the_next() {
    let cases = [(Liveness, false, Failure), (Startup, false, Failure), (Startup, true, Success)];
    for (kind, passes, result) in cases {
        let started = kind != Startup;
        let mut bench = Bench::new(kind, settings(1, 1));
        assert_eq!(bench.round(&running("c1", started), passes), (Next::Probe, Some(result)));
        // The result stays whatever is seen of the instance, also that it doesn't run any more.
        assert_eq!(bench.round(&running("c1", started), !passes), (Next::Wait, Some(result)));
        let ended = pod("c1", ProbedState::Ended { restarts: true }, false);
        assert_eq!(bench.round(&ended, !passes), (Next::Wait, Some(result)), "{kind:?}");
        let tick = bench.worker.tick(&bench.settings, Some(&running("c2", started)), at(0), at(NOW));
        let expected = Tick { forget: Some("c1".into()), set: Some(kind.initial()), next: Next::Probe };
        assert_eq!(tick, expected, "{kind:?}");
    }
}

#[test]
fn readiness_and_good_liveness_are_never_on_hold() {
    for (kind, passes) in [(Readiness, true), (Readiness, false), (Liveness, true)] {
        let mut bench = Bench::new(kind, settings(1, 1));
        for _ in 0..3 {
            assert_eq!(bench.round(&running("c1", true), passes).0, Next::Probe, "{kind:?}");
        }
    }
}

#[test]
fn a_restarted_container_gets_all_its_tries_again() {
    for (kind, started) in [(Liveness, true), (Startup, false)] {
        let mut bench = Bench::new(kind, settings(1, 3));
        for _ in 0..3 {
            bench.round(&running("c1", started), false);
        }
        assert_eq!(bench.result, Some(Failure));
        let tries: Vec<_> = (0..3).map(|_| bench.round(&running("c2", started), false).1).collect();
        assert_eq!(tries, [Some(kind.initial()), Some(kind.initial()), Some(Failure)], "{kind:?}");
    }
}

#[test]
fn a_new_instance_begins_with_the_first_result_of_its_probe() {
    for (kind, first) in [(Liveness, Success), (Readiness, Failure), (Startup, Unknown)] {
        let mut bench = Bench::new(kind, settings(5, 5));
        bench.tick(&running("c1", true));
        assert_eq!(bench.result, Some(first));
        bench.result = Some(if first == Success { Failure } else { Success });
        bench.tick(&running("c2", true));
        assert_eq!((bench.result, bench.worker.container()), (Some(first), Some(&"c2".into())));
    }
}

#[test]
fn an_instance_from_before_the_agents_start_keeps_what_an_earlier_agent_found() {
    // When it began, counted from the agent's start → whether the first result is set.
    let cases = [(-3_600, false), (-11, false), (-10, true), (-9, true), (0, true), (5, true)];
    for (since, set) in cases {
        for kind in ProbeKind::ALL {
            let mut bench = Bench::new(kind, settings(1, 1));
            bench.tick(&pod("c1", ProbedState::Running { since: Some(at(AGENT_START + since)) }, true));
            assert_eq!(bench.result, set.then_some(kind.initial()), "{since} s, {kind:?}");
        }
    }
    let mut bench = Bench::new(Readiness, settings(1, 1));
    bench.tick(&pod("c1", ProbedState::Running { since: None }, true));
    assert_eq!(bench.result, Some(Failure), "a runtime that doesn't say since when");
    let mut bench = Bench::new(Readiness, settings(1, 1));
    bench.tick(&pod("c1", ProbedState::Waiting, true));
    assert_eq!(bench.result, Some(Failure), "one that doesn't run");
}

#[test]
fn a_sidecar_from_before_the_agents_start_that_had_started_still_has() {
    let old = |is_started| pod("c1", ProbedState::Running { since: Some(at(-100)) }, is_started);
    let cases = [
        (Startup, true, Some(Success)),
        (Startup, false, None),
        (Readiness, true, None),
        (Liveness, true, None),
    ];
    for (kind, is_started, expected) in cases {
        let mut bench = Bench::sidecar(kind);
        bench.tick(&old(is_started));
        assert_eq!(bench.result, expected, "{kind:?}, started {is_started}");
    }
}

#[test]
fn only_probes_of_a_new_agent_are_spread_over_their_period() {
    // Period, uptime of the agent, random part → delay, all in seconds.
    let cases =
        [(10, 0, 0.5, 5.0), (10, 9, 0.1, 1.0), (10, 10, 0.5, 0.0), (10, 3_600, 0.9, 0.0), (1, 0, 0.0, 0.0)];
    for (period, uptime, unit, expected) in cases {
        let delay = start_delay(Duration::from_secs(period), Duration::from_secs(uptime), unit);
        assert_eq!(delay, Duration::from_secs_f64(expected), "{period} {uptime} {unit}");
    }
}

#[test]
fn settings_have_the_defaults_of_the_api_and_no_senseless_values() {
    let defaults = ProbeSettings::of(&Probe::default());
    assert_eq!(defaults, settings(1, 3));
    let probe = Probe {
        period_seconds: Some(0),
        timeout_seconds: Some(-3),
        initial_delay_seconds: Some(-100),
        success_threshold: Some(0),
        failure_threshold: Some(-1),
        ..Probe::default()
    };
    let least = ProbeSettings { period: Duration::from_secs(1), ..settings(1, 1) };
    assert_eq!(ProbeSettings::of(&probe), least);
}

fn any_state() -> impl Strategy<Value = ProbedState> {
    prop_oneof![
        Just(ProbedState::Waiting),
        any::<bool>().prop_map(|restarts| ProbedState::Ended { restarts }),
        proptest::option::of(-100_i64..1_100).prop_map(|since| ProbedState::Running { since: since.map(at) }),
    ]
}

fn any_pod() -> impl Strategy<Value = ProbedPod> {
    let container = (0..3_u8, any_state(), any::<bool>()).prop_map(|(id, state, is_started)| {
        ProbedContainer { id: format!("c{id}").into(), state, is_started }
    });
    (
        proptest::bool::weighted(0.05),
        proptest::bool::weighted(0.1),
        proptest::option::weighted(0.9, container),
    )
        .prop_map(|(is_terminal, is_deleted, container)| ProbedPod {
            is_terminal,
            is_deleted,
            container,
        })
}

fn any_kind() -> impl Strategy<Value = ProbeKind> {
    prop_oneof![Just(Startup), Just(Readiness), Just(Liveness)]
}

proptest! {
    /// Whatever is seen, and whatever probes find.
    #[test]
    fn no_sequence_of_facts_breaks_the_rules(
        kind in any_kind(),
        thresholds in (1_u32..4, 1_u32..4),
        rounds in proptest::collection::vec((any_pod(), any::<bool>()), 1..60),
    ) {
        let settings = settings(thresholds.0, thresholds.1);
        let mut worker = ProbeWorker::new(kind, false);
        // Since the result was last set by a probe: how many probes in a row found the same.
        let mut run: Option<(bool, u32)> = None;
        let mut on_hold_of: Option<ContainerId> = None;
        for (pod, passes) in rounds {
            let before = worker.container().cloned();
            let tick = worker.tick(&settings, Some(&pod), at(AGENT_START), at(NOW));
            let seen = pod.container.as_ref().filter(|_| !pod.is_terminal).map(|container| container.id.clone());
            prop_assert_eq!(worker.container(), seen.as_ref().or(before.as_ref()), "it follows the newest instance");
            let replaced = before.filter(|before| seen.as_ref().is_some_and(|seen| seen != before));
            prop_assert_eq!(tick.forget, replaced.clone(), "results of an old instance are forgotten at once");
            if replaced.is_some() {
                on_hold_of = None;
            }
            if tick.next != Next::Probe {
                continue;
            }
            let container = pod.container.as_ref().expect("only containers are probed");
            let runs = matches!(container.state, ProbedState::Running { .. });
            prop_assert!(runs && !pod.is_terminal, "only what runs is probed");
            prop_assert_eq!(container.is_started, kind != Startup, "startup gates the others, and ends with them");
            prop_assert!(kind == Readiness || !pod.is_deleted, "a pod that ends isn't restarted");
            prop_assert_ne!(on_hold_of.as_ref(), Some(&container.id), "an instance on hold isn't probed");

            let result = worker.found(&settings, passes);
            run = match run {
                Some((same, count)) if same == passes => Some((passes, count + 1)),
                Some(_) | None => Some((passes, 1)),
            };
            let needed = if passes { settings.success_threshold } else { settings.failure_threshold };
            let reached = run.is_some_and(|(_, count)| count >= needed);
            let expected = if passes { Success } else { Failure };
            prop_assert_eq!(result, reached.then_some(expected));
            if reached && (kind == Startup || kind == Liveness && !passes) {
                on_hold_of = Some(container.id.clone());
                run = Some((passes, 0));
            }
        }
    }
}

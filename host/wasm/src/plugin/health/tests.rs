//! When a plugin is left alone.

use super::*;

fn at(seconds: u64) -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *START.get_or_init(Instant::now) + Duration::from_secs(seconds)
}

const QUARANTINE: fn(u64) -> Option<Change> =
    |seconds| Some(Change::Quarantined { lasts: Duration::from_secs(seconds) });

/// Second, outcome, expected change.
type Step = (u64, Outcome, Option<Change>);

fn check(steps: &[Step]) -> Health {
    let mut health = Health::default();
    for (index, (second, outcome, expected)) in steps.iter().enumerate() {
        assert_eq!(health.record(*outcome, at(*second)), *expected, "step {index}");
    }
    health
}

use Outcome::{Answered, Failed, NotAsked, TimedOut};

#[test]
fn three_timeouts_in_a_row_quarantine() {
    let health = check(&[(0, TimedOut, None), (1, TimedOut, None), (2, TimedOut, QUARANTINE(10))]);
    assert_eq!(health.gate(at(11)), Gate::Closed { until: at(12) });
    assert_eq!(health.gate(at(12)), Gate::Open);
}

#[test]
fn five_failures_of_any_kind_in_a_row_quarantine() {
    check(&[
        (0, TimedOut, None),
        (0, TimedOut, None),
        (0, Failed, None),
        (0, TimedOut, None),
        (0, Failed, QUARANTINE(10)),
    ]);
}

#[test]
fn an_answer_in_between_starts_the_count_again() {
    let timeouts = [(0, TimedOut, None), (0, TimedOut, None), (0, Answered, None)];
    check(&timeouts.repeat(10));
}

#[test]
fn the_hosts_own_failures_count_for_nothing() {
    check(&[(0, NotAsked, None); 50]);
}

#[test]
fn quarantines_double_up_to_their_bound_and_end_with_an_answer() {
    let mut health = check(&[(0, TimedOut, None), (0, TimedOut, None), (0, TimedOut, QUARANTINE(10))]);
    let mut now = 0;
    for (waited, lasts) in [(10, 20), (20, 40), (40, 80), (80, 160), (160, 300), (300, 300), (300, 300)] {
        now += waited;
        assert_eq!(health.record(Failed, at(now)), QUARANTINE(lasts), "on probation one failure is enough");
    }
    now += 300;
    assert_eq!(health.record(Answered, at(now)), Some(Change::Recovered));
    assert_eq!(health, Health::default());
}

#[test]
fn calls_that_began_before_the_quarantine_do_not_lengthen_it() {
    check(&[
        (0, TimedOut, None),
        (0, TimedOut, None),
        (0, TimedOut, QUARANTINE(10)),
        (1, TimedOut, None),
        (1, TimedOut, None),
        (1, TimedOut, None),
        (1, Failed, None),
        (1, Failed, None),
    ]);
}

#[test]
fn the_end_of_a_quarantine_is_reported_once() {
    let mut health = check(&[(0, TimedOut, None), (0, TimedOut, None), (0, TimedOut, QUARANTINE(10))]);
    assert!(!health.take_release(at(9)));
    assert!(health.take_release(at(10)));
    assert!(!health.take_release(at(11)));
}

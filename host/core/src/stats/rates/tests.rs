//! Measurements at odd times.

use super::*;

/// A measurement at this second, of so much processor time in seconds, and the expected thousandths of a core.
type Step = (i64, f64, Option<u64>);

fn run(steps: &[Step]) {
    let mut rates = Rates::default();
    for (second, used, expected) in steps {
        let at = Timestamp::from_second(1_790_000_000 + second).expect("a time");
        let nanoseconds = (used * 1e9) as u64;
        let found = rates.measured("a", nanoseconds, at).map(|rate| rate / 1_000_000);
        assert_eq!(found, *expected, "at {second} s");
    }
}

#[test]
fn two_measurements_give_a_rate() {
    run(&[(0, 10.0, None), (15, 25.0, Some(1000)), (30, 32.5, Some(500)), (45, 32.5, Some(0))]);
}

#[test]
fn measurements_at_short_intervals_have_an_older_one() {
    run(&[
        (0, 0.0, None),
        (1, 1.0, None),
        (4, 4.0, None),
        (5, 5.0, Some(1000)),
        (6, 6.0, Some(1000)),
        (10, 10.0, Some(1000)),
        (11, 10.0, Some(833)),
        (15, 10.0, Some(0)),
    ]);
}

#[test]
fn what_was_long_ago_does_not_count() {
    run(&[(0, 0.0, None), (601, 601.0, None), (611, 601.0, Some(0))]);
    run(&[(0, 0.0, None), (600, 300.0, Some(500))]);
}

#[test]
fn a_counter_or_a_clock_that_went_back_begins_again() {
    run(&[(0, 9.0, None), (10, 1.0, None), (20, 2.0, Some(100))]);
    run(&[(100, 9.0, None), (50, 9.5, None), (60, 10.5, Some(100))]);
}

#[test]
fn what_is_not_measured_any_more_is_forgotten() {
    let mut rates = Rates::default();
    let at = |second| Timestamp::from_second(second).expect("a time");
    rates.measured("a", 0, at(0));
    rates.measured("b", 0, at(0));
    rates.retain(|key| *key == "b");
    assert_eq!(rates.measured("a", 0, at(10)), None);
    assert_eq!(rates.measured("b", 0, at(10)), Some(0));
}

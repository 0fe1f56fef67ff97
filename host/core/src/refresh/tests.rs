//! Intervals, faults and ages.

use super::*;

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

#[test]
fn what_was_fetched_is_fetched_again_after_its_interval_and_what_failed_less_and_less_often() {
    let failed = |failures| FetchOutcome::Failed { failures, retry_after: None };
    let late = |failures, wait| FetchOutcome::Failed { failures, retry_after: Some(seconds(wait)) };
    let every = |number| Some(seconds(number));
    let cases = [
        ("after its interval", every(900), FetchOutcome::Fetched, 0.0, every(900)),
        ("chance adds a tenth", every(900), FetchOutcome::Fetched, 1.0, every(990)),
        ("chance that is none", every(900), FetchOutcome::Fetched, 7.0, every(990)),
        ("never too often", every(1), FetchOutcome::Fetched, 0.0, every(10)),
        ("never too rarely", every(u64::MAX), FetchOutcome::Fetched, 0.0, every(7 * 24 * 3600)),
        ("what never changes", None, FetchOutcome::Fetched, 0.5, None),
        ("a fault", every(900), failed(1), 0.0, every(10)),
        ("a fault of what never changes", None, failed(1), 0.0, every(10)),
        ("a second fault", every(900), failed(2), 0.0, every(20)),
        ("a second fault and chance", every(900), failed(2), 0.5, every(21)),
        ("many faults", every(10), failed(50), 0.0, every(300)),
        ("all faults that there are", every(10), failed(u32::MAX), 0.0, every(300)),
        ("a server that wants to be left alone", every(900), late(1, 120), 0.0, every(120)),
        ("one that wants to be asked sooner", every(900), late(6, 1), 0.0, every(300)),
        ("one that wants to be forgotten", every(900), late(1, u64::MAX), 0.0, every(3600)),
    ];
    for (what, every, outcome, chance, expected) in cases {
        assert_eq!(next_fetch(every, outcome, chance), expected, "{what}");
    }
}

#[test]
fn only_what_has_a_bound_is_ever_too_old() {
    let cases = [(0, Some(60), false), (60, Some(60), false), (61, Some(60), true), (u64::MAX, None, false)];
    for (age, max_age, expected) in cases {
        assert_eq!(is_too_old(seconds(age), max_age.map(seconds)), expected, "{age}");
    }
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_old() {
    let at = |second| Timestamp::from_second(second).expect("a time in range");
    assert_eq!(age(at(100), at(160)), seconds(60));
    assert_eq!(age(at(160), at(100)), Duration::ZERO);
    assert_eq!(age(Timestamp::MIN, Timestamp::MIN), Duration::ZERO);
    assert!(age(Timestamp::MIN, Timestamp::MAX) > seconds(1 << 36));
}

#[test]
fn a_success_is_written_now_and_then_if_ages_count() {
    let at = |second| Timestamp::from_second(second).expect("a time in range");
    let day = Some(seconds(24 * 3600));
    let cases = [
        ("no age counts", None, 0, None, false),
        ("the first", None, 0, day, true),
        ("just written", Some(0), 5399, day, false),
        ("a sixteenth of a day later", Some(0), 5400, day, true),
        ("by a clock that was set back", Some(6000), 0, day, false),
    ];
    for (what, written, now, max_age, expected) in cases {
        assert_eq!(is_confirmation_due(written.map(at), at(now), max_age), expected, "{what}");
    }
}

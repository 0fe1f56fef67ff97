//! What is reported of calls that were measured.

use super::*;
use crate::check::Silent;
use crate::plan::Layer;

fn judged(memory: impl Fn(usize) -> f64, calls: usize) -> CheckResult {
    let mut checks = Checks::new(Layer::Budget, &Silent);
    let memory_bytes = (0..calls).map(memory).collect();
    let measured = Measured { memory_bytes, ..Measured::default() };
    leak(Role::Admission, &measured, &mut checks);
    checks.checks.remove(0).result
}

#[test]
fn a_leak_is_found_and_steady_memory_is_not() {
    let CheckResult::Failed(finding) = judged(|call| 1_000_000.0 + 65_536.0 * call as f64, 200) else {
        panic!("it leaks")
    };
    assert!(finding.seen.starts_with("65536 bytes more with each call"), "{}", finding.seen);
    assert_eq!(judged(|_| 1_000_000.0, 200), CheckResult::Passed);
    assert!(matches!(judged(|_| 1_000_000.0, 5), CheckResult::Skipped { .. }));
}

#[test]
fn a_cursor_that_grows_is_reported_and_one_that_counts_is_not() {
    let cursors = |length: fn(usize) -> f64| (0..200).map(length).collect::<Vec<_>>();
    let seen = grown(&cursors(|poll| 17.0 * (poll + 1) as f64)).expect("it grows");
    assert_eq!(seen, "17.0 bytes more with each of 200 polls: 17 at first, 3400 at last");
    assert_eq!(grown(&cursors(|poll| poll.to_string().len() as f64)), None);
    assert_eq!(grown(&cursors(|_| 16.0)), None);
    assert_eq!(grown(&[]), None);
}

#[test]
fn what_could_run_all_the_time_is_busy_however_little_of_the_machine_it_gets() {
    for (part, runnable, expected) in [
        (0.0, 0.0, false),
        (0.03, 0.05, false),
        (0.02, 0.5, false),
        (0.5, 0.5, true),
        (1.0, 1.0, true),
        (0.05, 0.95, true),
    ] {
        assert_eq!(is_busy(part, runnable), expected, "{part} {runnable}");
    }
}

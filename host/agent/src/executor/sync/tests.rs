//! Tests of when a pod with a deadline is checked again.

use super::*;

#[test]
fn a_deadline_that_is_near_counts_before_whatever_else_has_the_pod_checked_again() {
    let back_off = |seconds| RequeueCause::BackOff(Duration::from_secs(seconds));
    for (cause, left, expected) in [
        (RequeueCause::Resync, 5, back_off(5)),
        // The requeue itself never waits longer than a resync.
        (RequeueCause::Resync, 3600, back_off(3600)),
        (RequeueCause::Error, 5, back_off(5)),
        (RequeueCause::Error, 3600, RequeueCause::Error),
        (back_off(10), 5, back_off(5)),
        (back_off(10), 20, back_off(10)),
        (RequeueCause::NetworkNotReady, 0, RequeueCause::NetworkNotReady),
    ] {
        assert_eq!(sooner(cause, Duration::from_secs(left)), expected, "{cause:?}, {left} s left");
    }
}

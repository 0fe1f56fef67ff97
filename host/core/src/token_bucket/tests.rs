//! The bucket of tokens.

use super::*;

fn bucket(per_second: f64, burst: u32) -> TokenBucket {
    TokenBucket::new(per_second, burst, Duration::ZERO).expect("a limit")
}

#[test]
fn a_rate_that_is_none_limits_nothing() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(TokenBucket::new(rate, 10, Duration::ZERO), None, "{rate}");
    }
}

#[test]
fn so_many_at_once_and_so_many_per_second() {
    let mut bucket = bucket(5.0, 10);
    for (after_ms, asked, got) in
        [(0, 12, 10), (100, 2, 0), (200, 2, 1), (400, 2, 1), (2400, 11, 10), (3_600_000, 20, 10)]
    {
        let taken = (0..asked).filter(|_| bucket.try_take(Duration::from_millis(after_ms))).count();
        assert_eq!(taken, got, "{asked} asked after {after_ms} ms");
    }
}

#[test]
fn tokens_that_trickle_in_are_not_lost_to_rounding() {
    let mut bucket = bucket(1.0 / 300.0, 1);
    assert!(bucket.try_take(Duration::ZERO));
    for second in 1..300 {
        assert!(!bucket.try_take(Duration::from_secs(second)), "{second}");
    }
    assert!(bucket.try_take(Duration::from_secs(300)));
}

#[test]
fn a_bucket_holds_at_least_one() {
    let mut bucket = bucket(1.0, 0);
    assert!(bucket.try_take(Duration::ZERO) && !bucket.try_take(Duration::ZERO));
}

#[test]
fn a_clock_that_goes_back_fills_no_span_twice() {
    let mut bucket = bucket(1.0, 10);
    for (after, got) in [(100, 10), (90, 0), (100, 0), (101, 1)] {
        let taken = (0..10).filter(|_| bucket.try_take(Duration::from_secs(after))).count();
        assert_eq!(taken, got, "after {after} s");
    }
}

/// What the crate `governor` can't: tokens may be owed, and a waiter that gives up returns its own.
#[test]
fn tokens_may_be_owed_and_returned() {
    let mut bucket = bucket(50.0, 3);
    let waits: Vec<_> = (0..5).map(|_| bucket.take(Duration::ZERO).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 20, 40]);
    // The debt of two is paid and one more token is there; what would be more than the burst is not.
    assert_eq!(bucket.take(Duration::from_millis(60)), Duration::ZERO);
    let waits: Vec<_> = (0..4).map(|_| bucket.take(Duration::from_secs(60)).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 20]);
    // A clock that goes back gives nothing.
    assert_eq!(bucket.take(Duration::from_secs(1)).as_millis(), 40);
    bucket.put_back();
    assert_eq!(bucket.take(Duration::from_secs(1)).as_millis(), 40);
    for _ in 0..10 {
        bucket.put_back();
    }
    let waits: Vec<_> = (0..4).map(|_| bucket.take(Duration::from_secs(1)).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 20]);
}

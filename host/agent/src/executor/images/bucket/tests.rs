//! Tests of the bucket of tokens.

use std::time::Duration;

use super::*;

#[test]
fn so_many_at_once_and_so_many_per_second() {
    let start = Instant::now();
    let mut bucket = TokenBucket::new(5, 10, start);
    for (after_ms, asked, got) in
        [(0, 12, 10), (100, 2, 0), (200, 2, 1), (400, 2, 1), (2400, 11, 10), (3_600_000, 20, 10)]
    {
        let now = start + Duration::from_millis(after_ms);
        let taken = (0..asked).filter(|_| bucket.take(now)).count();
        assert_eq!(taken, got, "{asked} asked after {after_ms} ms");
    }
}

#[test]
fn zero_per_second_is_no_limit() {
    let now = Instant::now();
    let mut bucket = TokenBucket::new(0, 0, now);
    assert_eq!((0..1000).filter(|_| bucket.take(now)).count(), 1000);
}

#[test]
fn a_bucket_holds_at_least_one() {
    let now = Instant::now();
    let mut bucket = TokenBucket::new(1, 0, now);
    assert!(bucket.take(now) && !bucket.take(now));
}

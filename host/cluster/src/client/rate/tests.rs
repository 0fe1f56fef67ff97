//! The bucket of tokens.

use std::time::Duration;

use super::{Bucket, Rate};

#[test]
fn a_rate_that_is_none_limits_nothing() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Bucket::new(rate, 10), None, "{rate}");
    }
}

#[test]
fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
    let mut bucket = Bucket::new(50.0, 3).expect("a limit");
    let waits: Vec<_> = (0..5).map(|_| bucket.take(Duration::ZERO).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 20, 40]);
    // The debt of two is paid and one more token is there; what would be more than the burst is not.
    assert_eq!(bucket.take(Duration::from_millis(60)), Duration::ZERO);
    let waits: Vec<_> = (0..4).map(|_| bucket.take(Duration::from_secs(60)).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 20]);
    // A clock that goes back gives nothing.
    assert_eq!(bucket.take(Duration::from_secs(1)).as_millis(), 40);
}

#[tokio::test(start_paused = true)]
async fn who_waits_longest_goes_first() {
    let rate = Rate::new(Bucket::new(10.0, 1).expect("a limit"));
    let begun = tokio::time::Instant::now();
    for expected in [0, 100, 200] {
        rate.wait().await;
        let spent = begun.elapsed().as_millis();
        assert!((expected..expected + 2).contains(&spent), "{expected}: {spent}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_owes_nothing() {
    let rate = Rate::new(Bucket::new(10.0, 1).expect("a limit"));
    rate.wait().await;
    for _ in 0..1000 {
        let given_up = tokio::time::timeout(Duration::ZERO, rate.wait()).await;
        assert!(given_up.is_err(), "nothing is left");
    }
    let begun = tokio::time::Instant::now();
    rate.wait().await;
    assert!(begun.elapsed() < Duration::from_millis(102), "{:?}", begun.elapsed());
}

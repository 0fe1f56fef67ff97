//! Who may make a request when.

use std::time::Duration;

use super::Rate;

#[tokio::test(start_paused = true)]
async fn who_waits_longest_goes_first() {
    let rate = Rate::new(10.0, 1).expect("a limit");
    let begun = tokio::time::Instant::now();
    for expected in [0, 100, 200] {
        rate.wait().await;
        let spent = begun.elapsed().as_millis();
        assert!((expected..expected + 2).contains(&spent), "{expected}: {spent}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_owes_nothing() {
    let rate = Rate::new(10.0, 1).expect("a limit");
    rate.wait().await;
    for _ in 0..1000 {
        let given_up = tokio::time::timeout(Duration::ZERO, rate.wait()).await;
        assert!(given_up.is_err(), "nothing is left");
    }
    let begun = tokio::time::Instant::now();
    rate.wait().await;
    assert!(begun.elapsed() < Duration::from_millis(102), "{:?}", begun.elapsed());
}

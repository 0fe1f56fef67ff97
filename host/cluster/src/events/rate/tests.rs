//! The limit on paused time.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_burst_goes_at_once_and_the_rest_at_its_pace() {
    let mut rate = Rate::new(EventLimit { per_second: 10, burst: 3 });
    let begun = Instant::now();
    let mut times = Vec::new();
    for _ in 0..5 {
        rate.permit().await;
        times.push(begun.elapsed().as_millis());
    }
    assert!(times[2] < 5 && (100..110).contains(&times[3]) && (200..210).contains(&times[4]), "{times:?}");
    sleep(Duration::from_secs(60)).await;
    let begun = Instant::now();
    for _ in 0..3 {
        rate.permit().await;
    }
    assert!(
        begun.elapsed() < Duration::from_millis(5),
        "a while without events gathers the burst, and no more"
    );
    rate.permit().await;
    assert!(begun.elapsed() >= Duration::from_millis(95));
}

#[tokio::test(start_paused = true)]
async fn zero_is_no_limit() {
    let mut rate = Rate::new(EventLimit { per_second: 0, burst: 0 });
    let begun = Instant::now();
    for _ in 0..10_000 {
        rate.permit().await;
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

//! Passes on paused time.

use std::future::ready;

use tokio::sync::oneshot;

use super::*;

const PERIOD: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_pass_is_begun_once_in_a_period_and_shown_until_the_next_one_ends() {
    let figures = Background::new(PERIOD);
    figures.begin(|| ready(Some(1))).await;
    figures.begin(|| ready(Some(2))).await;
    assert_eq!(figures.newest().await.as_deref(), Some(&1));
    tokio::time::advance(PERIOD).await;
    let (end, ended) = oneshot::channel();
    figures.begin(|| async move { ended.await.ok() }).await;
    tokio::time::advance(PERIOD).await;
    figures.begin(|| ready(Some(4))).await;
    assert_eq!(figures.newest().await.as_deref(), Some(&1), "the second is under way");
    end.send(3).expect("it is waited for");
    while figures.newest().await.as_deref() == Some(&1) {
        tokio::task::yield_now().await;
    }
    assert_eq!(figures.newest().await.as_deref(), Some(&3));
}

#[tokio::test(start_paused = true)]
async fn a_pass_without_figures_leaves_those_of_the_one_before() {
    let figures = Background::new(PERIOD);
    figures.begin(|| ready(Some(1))).await;
    assert_eq!(figures.newest().await.as_deref(), Some(&1));
    tokio::time::advance(PERIOD).await;
    figures.begin(|| ready(None)).await;
    tokio::time::advance(PERIOD).await;
    assert_eq!(figures.newest().await.as_deref(), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn the_first_pass_is_waited_for_until_it_ends_and_for_a_bounded_time() {
    let (end, ended) = oneshot::channel::<u8>();
    let figures = Background::new(PERIOD);
    figures.begin(|| async move { ended.await.ok() }).await;
    let begun = Instant::now();
    assert_eq!(figures.newest().await, None);
    assert_eq!(begun.elapsed(), FIRST_WAIT);
    drop(end);
    // It ended without figures: who waits for it learns that at once.
    assert_eq!(figures.newest().await, None);
    let failing = Background::<u8>::new(PERIOD);
    failing.begin(|| ready(None)).await;
    let begun = Instant::now();
    assert_eq!((failing.newest().await, begun.elapsed()), (None, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_ended_without_figures_is_waited_for_once() {
    let figures = Background::<u8>::new(PERIOD);
    figures.begin(|| ready(None)).await;
    assert_eq!(figures.newest().await, None);
    let begun = Instant::now();
    figures.begin(|| ready(Some(1))).await;
    assert_eq!((figures.newest().await, begun.elapsed()), (None, Duration::ZERO), "it isn't time yet");
}

//! Who waits for whom.

use std::sync::Mutex;

use futures::future::join_all;
use tokio::time::Instant;

use super::*;

/// The milliseconds at which works began that take this long each, with two turns.
async fn beginnings(milliseconds: &[u64]) -> Vec<u128> {
    let (turns, begun, at) = (Turns::new(2), Instant::now(), Mutex::new(Vec::new()));
    let works = milliseconds.iter().map(|takes| {
        turns.take(|| async {
            at.lock().expect("nobody panics").push(begun.elapsed().as_millis());
            tokio::time::sleep(Duration::from_millis(*takes)).await;
        })
    });
    join_all(works).await;
    at.into_inner().expect("nobody panics")
}

#[tokio::test(start_paused = true)]
async fn short_work_takes_turns() {
    assert_eq!(beginnings(&[10, 10, 10, 10, 10]).await, [0, 0, 10, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn long_work_holds_up_nobody_for_longer_than_a_turn() {
    assert_eq!(beginnings(&[60_000, 60_000, 60_000, 10]).await, [0, 0, 200, 200]);
}

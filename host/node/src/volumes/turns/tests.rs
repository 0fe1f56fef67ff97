//! Turns of pods.

use std::time::Duration;

use super::*;

async fn is_free(turns: &Turns, uid: &str) -> bool {
    tokio::time::timeout(Duration::from_secs(1), turns.take(&uid.into(), Part::Own)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_somebody_works_on_waits_and_others_dont() {
    let turns = Turns::new();
    let hung = turns.take(&"a".into(), Part::Own).await;
    for _ in 0..3 {
        assert!(!is_free(&turns, "a").await);
        assert!(is_free(&turns, "b").await);
    }
    drop(hung);
    assert!(is_free(&turns, "a").await);
}

#[tokio::test(start_paused = true)]
async fn pods_without_end_take_no_more_threads_than_there_are() {
    let turns = Turns::new();
    let mut hung = Vec::new();
    for pod in 0..THREADS_MAX {
        hung.push(turns.take(&PodUid::from(format!("pod-{pod}")), Part::Own).await);
    }
    assert!(!is_free(&turns, "one-more").await);
    hung.pop();
    assert!(is_free(&turns, "one-more").await);
}

#[tokio::test]
async fn pods_that_nobody_works_on_are_forgotten() {
    let turns = Turns::new();
    for pod in 0..1000 {
        drop(turns.take(&PodUid::from(format!("pod-{pod}")), Part::Own).await);
    }
    assert!(turns.pods.lock().expect("a lock").len() <= 1);
}

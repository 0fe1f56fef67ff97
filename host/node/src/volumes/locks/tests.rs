//! VolumeLocks of pods.

use std::time::Duration;

use super::*;

async fn is_free(locks: &VolumeLocks, uid: &str) -> bool {
    tokio::time::timeout(Duration::from_secs(1), locks.acquire(&uid.into(), Part::Own)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_someone_works_on_waits_and_others_dont() {
    let locks = VolumeLocks::new();
    let hung = locks.acquire(&"a".into(), Part::Own).await;
    for _ in 0..3 {
        assert!(!is_free(&locks, "a").await);
        assert!(is_free(&locks, "b").await);
    }
    drop(hung);
    assert!(is_free(&locks, "a").await);
}

#[tokio::test(start_paused = true)]
async fn pods_without_end_take_no_more_threads_than_there_are() {
    let locks = VolumeLocks::new();
    let mut hung = Vec::new();
    for pod in 0..THREADS_MAX {
        hung.push(locks.acquire(&PodUid::from(format!("pod-{pod}")), Part::Own).await);
    }
    assert!(!is_free(&locks, "one-more").await);
    hung.pop();
    assert!(is_free(&locks, "one-more").await);
}

#[tokio::test]
async fn pods_that_no_one_works_on_are_forgotten() {
    let locks = VolumeLocks::new();
    for pod in 0..1000 {
        drop(locks.acquire(&PodUid::from(format!("pod-{pod}")), Part::Own).await);
    }
    assert!(locks.pods.lock().expect("a lock").len() <= 1);
}

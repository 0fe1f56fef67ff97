//! The lock of a real folder, on paused time.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_still_being_taken_apart_is_waited_for_and_one_that_stays_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = lock(folder.path()).await.expect("no one has it");
    let began = Instant::now();
    let refused = lock(folder.path()).await.expect_err("the first has it").to_string();
    assert_eq!(began.elapsed(), LOCK_WAIT_MAX);
    assert!(refused.starts_with("a runtime is running already on "), "{refused}");
    let began = Instant::now();
    let (second, ()) = tokio::join!(lock(folder.path()), async {
        sleep(Duration::from_secs(2)).await;
        drop(first);
    });
    second.expect("the first is gone by now");
    assert!((2..LOCK_WAIT_MAX.as_secs()).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

//! A lock in a real folder, on paused time.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_second_agent_waits_is_reported_whose_the_folder_is_and_may_have_it_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = RootLock::take(folder.path()).await.expect("no one has it");
    let began = Instant::now();
    let refused = RootLock::take(folder.path()).await.expect_err("the first has it").to_string();
    assert_eq!(began.elapsed(), WAIT_MAX);
    for word in [&folder.path().display().to_string(), &std::process::id().to_string(), "--root-dir"] {
        assert!(refused.contains(word), "{word:?} isn't in: {refused}");
    }
    drop(first);
    RootLock::take(folder.path()).await.expect("it is free again");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_still_being_taken_apart_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = RootLock::take(folder.path()).await.expect("no one has it");
    let began = Instant::now();
    let (second, ()) = tokio::join!(RootLock::take(folder.path()), async {
        sleep(Duration::from_secs(4)).await;
        drop(first);
    });
    second.expect("the first is gone by now");
    assert!((4..WAIT_MAX.as_secs()).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_the_lock_is_only_reported() {
    for text in ["", "no number", "99999999999999999999999999999999"] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE_NAME), text).expect("written");
        let file = File::open(folder.path().join(FILE_NAME)).expect("there");
        assert_eq!(holder(&file), None, "{text:?}");
        RootLock::take(folder.path()).await.expect("no one has it");
    }
}

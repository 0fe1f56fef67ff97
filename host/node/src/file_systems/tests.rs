//! This machine's file systems.

use super::*;

#[tokio::test]
async fn a_folder_has_a_file_system_and_what_is_not_there_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let systems = NodeFileSystems::default();
    let left = systems.bytes(folder.path()).await.expect("it is there");
    assert!(left.capacity > 0 && left.available <= left.capacity, "{left:?}");
    let gone = folder.path().join("gone");
    let error = systems.bytes(&gone).await.expect_err("it isn't there");
    assert_eq!(error.to_string(), format!("read the file system of {}", gone.display()));
}

#[tokio::test(start_paused = true)]
async fn a_file_system_that_hangs_is_given_up() {
    let systems = NodeFileSystems::default();
    let _hanging = systems.asking.lock().await;
    let error = systems.bytes(Path::new("/")).await.expect_err("an earlier question hangs");
    assert_eq!(error.cause.kind(), io::ErrorKind::TimedOut);
}

//! The state store on a real disk.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn store() -> (tempfile::TempDir, FileStateStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStateStore::new(folder.path().join("state"));
    (folder, store)
}

#[tokio::test]
async fn a_saved_value_is_loaded_and_replaced_whole() {
    let (_folder, store) = store();
    assert_eq!(store.load("pods").await.expect("no folder is no error"), None);
    store.save("pods", b"first, and long").await.expect("saved");
    store.save("pods", b"second").await.expect("saved");
    assert_eq!(store.load("pods").await.expect("read").as_deref(), Some(&b"second"[..]));
    let names: Vec<_> = fs::read_dir(&store.folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["pods"], "nothing is left next to it");
}

#[tokio::test]
async fn only_the_owner_may_read() {
    let (_folder, store) = store();
    store.save("pods", b"x").await.expect("saved");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&store.folder), mode(&store.folder.join("pods"))), (0o700, 0o600));
}

#[tokio::test]
async fn a_name_leads_nowhere_else() {
    let (_folder, store) = store();
    for name in ["", ".", "..", "../x", "a/b", ".hidden", "a\0b", &"x".repeat(65)] {
        assert!(store.save(name, b"x").await.is_err(), "{name:?}");
        assert!(store.load(name).await.is_err(), "{name:?}");
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_leaves_the_old_value_and_the_next_save_goes_on() {
    let (folder, store) = store();
    store.save("pods", b"old").await.expect("saved");
    let victim = folder.path().join("victim");
    fs::write(&victim, b"untouched").expect("written");
    symlink(&victim, store.folder.join(".pods.new")).expect("linked");
    assert_eq!(store.load("pods").await.expect("read").as_deref(), Some(&b"old"[..]));
    store.save("pods", b"new").await.expect("saved");
    assert_eq!(store.load("pods").await.expect("read").as_deref(), Some(&b"new"[..]));
    assert_eq!(fs::read(&victim).expect("there"), b"untouched");
}

#[tokio::test]
async fn values_have_a_bound() {
    let (_folder, store) = store();
    let length = usize::try_from(STATE_BYTES_MAX).expect("16 MiB") + 1;
    let error = store.save("pods", &vec![0; length]).await.expect_err("too large");
    assert_eq!(error.cause.kind(), io::ErrorKind::FileTooLarge);
}

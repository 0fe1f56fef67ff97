//! What the cache keeps and what it trusts.

use super::*;

fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::TempDir::new().expect("a folder");
    let cache = Cache::open(folder.path().join("compiled")).expect("a cache");
    (folder, cache)
}

fn code(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("writable");
    file
}

fn key(number: usize) -> Key {
    Key(format!("{number:064x}"))
}

fn engine() -> Engine {
    crate::engine::compiling(EngineKind::Synchronous).expect("an engine")
}

#[test]
fn an_entry_that_was_changed_opened_to_others_or_given_away_is_repairable() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, cache) = cache();
    let engine = engine();
    assert!(matches!(cache.load(&engine, &key(1)), Ok(None)));

    cache.store(&key(1), code(b"no code")).expect("stored");
    let unfit = cache.load(&engine, &key(1)).expect_err("not code");
    assert!(matches!(unfit, CacheError::Unfit { .. }) && unfit.is_repairable(), "{unfit}");

    std::fs::write(cache.path(&key(1)), b"no c0de").expect("writable");
    let damaged = cache.load(&engine, &key(1)).expect_err("changed");
    assert!(matches!(damaged, CacheError::Damaged { .. }) && damaged.is_repairable(), "{damaged}");

    cache.store(&key(1), code(b"no code")).expect("stored");
    std::fs::set_permissions(cache.path(&key(1)), std::fs::Permissions::from_mode(0o640)).expect("mine");
    let open = cache.load(&engine, &key(1)).expect_err("open to the group");
    assert!(matches!(open, CacheError::Mode { mode: 0o640, .. }) && open.is_repairable(), "{open}");

    cache.remove(&key(1)).expect("removed");
    cache.remove(&key(1)).expect("removing what isn't there is no error");
    assert!(matches!(cache.load(&engine, &key(1)), Ok(None)));
}

#[test]
fn a_link_to_code_elsewhere_is_not_followed() {
    let (folder, cache) = cache();
    cache.store(&key(1), code(b"no code")).expect("stored");
    let elsewhere = folder.path().join("elsewhere");
    std::fs::rename(cache.path(&key(1)), &elsewhere).expect("moved");
    std::os::unix::fs::symlink(&elsewhere, cache.path(&key(1))).expect("linked");
    assert!(matches!(cache.load(&engine(), &key(1)), Err(CacheError::Io { action: "open", .. })));
}

#[test]
fn the_oldest_entries_go_when_there_are_too_many() {
    let (_folder, cache) = cache();
    for number in 0..ENTRIES_MAX + 3 {
        cache.store(&key(number), code(b"x")).expect("stored");
    }
    let kept = std::fs::read_dir(&cache.folder).expect("readable").count();
    assert_eq!(kept, 2 * ENTRIES_MAX, "code and digest of each");
    assert!(cache.path(&key(ENTRIES_MAX + 2)).exists(), "the newest stays");
}

#[test]
fn unfinished_files_of_ended_processes_are_abandoned() {
    // Process numbers end far below this one.
    for (extension, expected) in
        [("new-999999999-0", true), ("cwasm", false), ("new-", false), ("newer-1-1", false)]
    {
        assert_eq!(is_abandoned(extension), expected, "{extension}");
    }
    assert!(!is_abandoned(&format!("new-{}-0", std::process::id())), "this one still writes");
}

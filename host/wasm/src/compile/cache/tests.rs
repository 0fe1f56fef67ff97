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
fn only_files_of_the_cache_s_own_count_and_others_are_replaced() {
    let (folder, cache) = cache();
    let elsewhere = folder.path().join("elsewhere");
    let path = cache.path(&key(1));
    let found = |cache: &Cache| match cache.load(&engine(), &key(1)) {
        Err(CacheError::NotAFile { found, .. }) => found,
        other => panic!("{other:?}"),
    };
    cache.store(&key(1), code(b"no code")).expect("stored");
    std::fs::hard_link(&path, &elsewhere).expect("linked");
    assert_eq!(found(&cache), "a file with other names");
    std::fs::remove_file(&path).expect("mine");
    std::os::unix::fs::symlink(&elsewhere, &path).expect("linked");
    assert_eq!(found(&cache), "a link");
    cache.remove(&key(1)).expect("removed");
    cache.store(&key(1), code(b"no code")).expect("stored");
    assert!(matches!(cache.load(&engine(), &key(1)), Err(CacheError::Unfit { .. })), "it is a file again");
    assert_eq!(std::fs::read(&elsewhere).expect("readable"), b"no code", "what was linked is untouched");
}

#[test]
fn code_under_the_name_of_other_code_does_not_count() {
    let (_folder, cache) = cache();
    cache.store(&key(1), code(b"one")).expect("stored");
    for extension in [CODE, DIGEST] {
        let path = |number| cache.path(&key(number)).with_extension(extension);
        std::fs::rename(path(1), path(2)).expect("mine");
    }
    assert!(matches!(cache.load(&engine(), &key(2)), Err(CacheError::Damaged { .. })));
}

#[test]
fn a_folder_that_is_put_in_the_cache_s_place_later_is_not_used() {
    let (folder, cache) = cache();
    cache.store(&key(1), code(b"one")).expect("stored");
    let (path, moved) = (folder.path().join("compiled"), folder.path().join("moved"));
    std::fs::rename(&path, &moved).expect("mine");
    std::fs::create_dir(&path).expect("mine");
    assert!(matches!(cache.load(&engine(), &key(1)), Err(CacheError::Unfit { .. })), "the old one's code");
    cache.store(&key(2), code(b"two")).expect("stored");
    assert_eq!(std::fs::read_dir(&path).expect("readable").count(), 0);
    assert_eq!(std::fs::read_dir(&moved).expect("readable").count(), 4);
}

#[test]
fn a_cache_behind_a_link_is_refused() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("link");
    std::os::unix::fs::symlink("/tmp", &path).expect("linked");
    assert!(matches!(Cache::open(path), Err(CacheError::Io { action: "open the folder", .. })));
}

#[test]
fn what_takes_too_many_bytes_goes_oldest_first() {
    const HALF: u64 = CACHE_BYTES_MAX / 2;
    let cases: [(&[u64], usize); 5] = [
        (&[], 0),
        (&[HALF, HALF], 0),
        (&[1, HALF, HALF], 1),
        (&[1, CACHE_BYTES_MAX + 1], 2),
        (&[HALF + 1, HALF, 1], 1),
    ];
    for (bytes, expected) in cases {
        assert_eq!(surplus(bytes), expected, "{bytes:?}");
    }
    assert_eq!(surplus(&[1; ENTRIES_MAX + 2]), 3, "the newest isn't among them");
}

#[test]
fn the_oldest_entries_go_when_there_are_too_many() {
    let (_folder, cache) = cache();
    for number in 0..ENTRIES_MAX + 3 {
        cache.store(&key(number), code(b"x")).expect("stored");
    }
    let kept = std::fs::read_dir(&cache.path).expect("readable").count();
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

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let (folder, cache) = cache();
    let full = |file: &mut File| {
        file.write_all(b"a part")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    };
    assert!(matches!(cache.write("0.cwasm", full), Err(CacheError::Io { action: "write", .. })));
    assert_eq!(std::fs::read_dir(folder.path().join("compiled")).expect("readable").count(), 0);
}

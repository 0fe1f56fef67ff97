//! Removing trees on a real disk.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_tree_goes_with_all_in_it_and_nothing_next_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    for inner in ["a/b/c", "d", "e/f"] {
        fs::create_dir_all(tree.join(inner)).expect("made");
        fs::write(tree.join(inner).join("file"), "x").expect("written");
    }
    rustix::fs::mkfifoat(CWD, tree.join("pipe"), Mode::RWXU).expect("made");
    fs::write(tree.join(OsStr::from_bytes(b"odd \xff\n name")), "x").expect("written");
    fs::write(folder.path().join("other"), "x").expect("written");
    for _ in 0..2 {
        remove_tree(&tree).expect("removed, and removed again");
    }
    assert_eq!(names(folder.path()), ["other"]);
}

#[test]
fn links_are_removed_and_never_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("precious"), "x").expect("written");
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("inner")).expect("made");
    symlink(&outside, tree.join("inner/link")).expect("linked");
    symlink("/", tree.join("root")).expect("linked");
    symlink(&outside, folder.path().join("link")).expect("linked");
    remove_tree(&tree).expect("removed");
    remove_tree(&folder.path().join("link")).expect("removed");
    assert_eq!(names(folder.path()), ["outside"]);
    assert!(outside.join("precious").exists());
}

#[test]
fn a_tree_far_deeper_than_paths_may_be_long_goes() {
    const DEPTH: usize = 700;
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).expect("made");
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut inner = rustix::fs::open(&tree, flags, Mode::empty()).expect("opened");
    for depth in 0..DEPTH {
        rustix::fs::mkdirat(&inner, "deeper", Mode::RWXU).expect("made");
        // A name that the remover would choose itself is no obstacle.
        if depth % LEVELS_MAX == 0 {
            rustix::fs::mkdirat(&inner, ".removing-1", Mode::RWXU).expect("made");
        }
        inner = rustix::fs::openat(&inner, "deeper", flags, Mode::empty()).expect("opened");
    }
    drop(inner);
    remove_tree(&tree).expect("removed");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_tree_that_someone_still_writes_to_goes_or_is_reported_and_nothing_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::create_dir_all(tree.join("a/b"));
                let _ = fs::write(tree.join("a/b/c"), "x");
            }
        });
        for _ in 0..200 {
            let _ = remove_tree(&tree);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    remove_tree(&tree).expect("no one writes any more");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_or_an_empty_folder_goes_and_a_full_one_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "x").expect("written");
    fs::create_dir_all(at("full/inner")).expect("made");
    remove_entry(&at("file")).expect("removed");
    remove_entry(&at("gone")).expect("nothing there is no error");
    let kept = remove_entry(&at("full")).expect_err("it isn't empty");
    assert_eq!(kept.kind(), io::ErrorKind::DirectoryNotEmpty);
    remove_entry(&at("full/inner")).expect("removed");
    assert_eq!(names(folder.path()), ["full"]);
}

//! Trees on a real disk.

use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};

use super::*;

/// More levels of folders than fit on [`STACK_BYTES`] of a function that calls itself for each; some file systems remove
/// but a few hundred a second.
const LEVELS: usize = 1_000;
/// Threads usually have sixteen times that.
const STACK_BYTES: usize = 128 << 10;

#[test]
fn a_tree_of_any_depth_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().join("top");
    fs::create_dir(&top).expect("made");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut current = rustix::fs::open(&top, flags, Mode::empty()).expect("open");
    for level in 0..LEVELS {
        rustix::fs::mkdirat(&current, "d", Mode::RWXU).expect("made");
        if level % 100 == 0 {
            rustix::fs::symlinkat("/etc", &current, "link").expect("linked");
        }
        current = rustix::fs::openat(&current, "d", flags, Mode::empty()).expect("open");
    }
    drop(current);
    let (place, thread) = (top.clone(), std::thread::Builder::new().stack_size(STACK_BYTES));
    let removing = thread.spawn(move || remove_folder(&place)).expect("a thread");
    removing.join().expect("no panic").expect("removed");
    assert!(!top.exists());
}

#[test]
fn what_links_lead_to_stays_and_odd_names_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let (top, other) = (folder.path().join("top"), folder.path().join("other"));
    fs::create_dir_all(other.join("inner")).expect("made");
    fs::write(other.join("file"), "x").expect("written");
    for path in ["a/b/c/d", ".removing-1/x/y", ".removing-2", "w/.removing-3"] {
        fs::create_dir_all(top.join(path)).expect("made");
    }
    fs::write(top.join(".removing-4"), "x").expect("written");
    for place in ["link", "a/link", "a/b/link"] {
        symlink(&other, top.join(place)).expect("linked");
    }
    for number in 0..500 {
        fs::create_dir_all(top.join(format!("wide/{number}/inner"))).expect("made");
    }
    remove_folder(&top).expect("removed");
    assert!(!top.exists() && other.join("inner").exists() && other.join("file").exists());
}

#[test]
fn what_isnt_a_folder_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = remove_folder(&folder.path().join("gone")).expect_err("nothing there");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    fs::write(folder.path().join("file"), "x").expect("written");
    remove_folder(&folder.path().join("file")).expect_err("a file");
    assert!(folder.path().join("file").exists());
}

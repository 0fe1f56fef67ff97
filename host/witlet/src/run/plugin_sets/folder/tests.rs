//! The folder of sets: what a restart finds in it, and what goes from the disk.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

const A: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const C: &str = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

fn kept(digest: &str) -> KeptSet {
    let reference = format!("oci://registry.example.com/fleet@{digest}");
    KeptSet { reference, signed_by: "key".to_owned() }
}

fn folder() -> (tempfile::TempDir, SetFolder) {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = SetFolder::open(scratch.path().join("sets")).expect("its own");
    (scratch, folder)
}

/// A set whose folder was finished. Whether each byte of it is there is `verify_set`'s, and its tests'.
fn bring(folder: &SetFolder, digest: &str) {
    let part = folder.begin(digest).expect("a folder");
    let file = set_plugin_file(&part);
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(file, "{}").expect("written");
    folder.finish(digest).expect("finished");
}

fn there(folder: &SetFolder) -> [bool; 3] {
    [A, B, C].map(|digest| folder.plugin_file(digest).exists())
}

#[test]
fn the_set_that_serves_is_found_again_until_it_is_forgotten() {
    let (_scratch, folder) = folder();
    assert_eq!(folder.kept(), None, "none was ever brought");
    for digest in [A, B] {
        bring(&folder, digest);
        folder.keep(&kept(digest)).expect("kept");
        assert_eq!(folder.kept(), Some(kept(digest)));
    }
    assert_eq!(kept(B).digest(), B);
    folder.forget().expect("forgotten");
    assert_eq!(folder.kept(), None);
    folder.forget().expect("twice is once");
    fs::write(folder.0.join(CURRENT), "{").expect("written");
    assert_eq!(folder.kept(), None, "what is damaged names none");
}

#[test]
fn only_sets_that_are_used_stay_on_the_disk_with_what_is_brought_of_them() {
    let (_scratch, folder) = folder();
    for digest in [A, B, C] {
        bring(&folder, digest);
    }
    folder.begin(A).expect("a folder");
    folder.begin(B).expect("a folder");
    folder.keep(&kept(C)).expect("kept");
    folder.prune(&[B.to_owned(), C.to_owned()]);
    assert_eq!(there(&folder), [false, true, true]);
    assert!(!folder.unfinished(A).exists() && folder.unfinished(B).exists());
    assert_eq!(folder.kept(), Some(kept(C)), "files stay");
    folder.prune(&[]);
    assert_eq!(there(&folder), [false; 3]);
}

#[test]
fn a_try_goes_on_with_what_the_one_before_left_unless_the_disk_was_full() {
    let (_scratch, folder) = folder();
    let part = folder.begin(A).expect("a folder");
    fs::write(part.join("some"), "").expect("written");
    assert_eq!(there(&folder), [false; 3], "it isn't whole yet");
    assert!(folder.begin(A).expect("a folder").join("some").exists());
    folder.abandon(A);
    assert!(folder.begin(A).expect("a folder").read_dir().expect("a folder").next().is_none());
    // Brought once more, as a damaged one is.
    bring(&folder, A);
    bring(&folder, A);
    assert!(!folder.is_whole(A), "it has no manifest");
}

#[test]
fn a_folder_into_which_others_can_write_is_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("sets");
    SetFolder::open(path.clone()).expect("its own");
    let mode = fs::metadata(&path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    for mode in [0o770, 0o707, 0o722] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
        let error = SetFolder::open(path.clone()).expect_err("refused");
        assert!(error.to_string().contains("only this user can write"), "{error}");
    }
    let link = scratch.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).expect("linked");
    SetFolder::open(link).expect_err("a link may lead anywhere");
}

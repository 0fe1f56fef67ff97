//! Groups and modes on a real disk. Only root may give files away: others see modes alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

const GID: u32 = 54_321;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn owner(on_root_mismatch: bool, read_only: bool) -> Ownership {
    let gid = if is_root() { GID } else { rustix::process::getegid().as_raw() };
    Ownership { gid, on_root_mismatch, read_only }
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let set = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).expect("set");
    };
    fs::create_dir_all(folder.path().join("v/inner")).expect("made");
    fs::write(folder.path().join("v/inner/file"), "x").expect("written");
    fs::write(folder.path().join("outside"), "x").expect("written");
    symlink("../../outside", folder.path().join("v/inner/link")).expect("linked");
    for (name, mode) in [("v", 0o755), ("v/inner", 0o700), ("v/inner/file", 0o600), ("outside", 0o600)] {
        set(name, mode);
    }
    folder
}

fn mode(root: &Path, name: &str) -> u32 {
    fs::symlink_metadata(root.join(name)).expect("there").mode() & 0o7777
}

#[test]
fn the_group_gets_access_and_folders_hand_it_on() {
    for (read_only, folder_mode, file_mode) in [(false, 0o2770, 0o660), (true, 0o2750, 0o640)] {
        let folder = tree();
        let root = folder.path();
        give(&root.join("v"), owner(false, read_only)).expect("given");
        assert_eq!(mode(root, "v/inner"), folder_mode);
        assert_eq!(mode(root, "v/inner/file"), file_mode);
        assert_eq!(mode(root, "v"), 0o755 | folder_mode);
        // Never through a link.
        assert_eq!(mode(root, "outside"), 0o600);
        if is_root() {
            for name in ["v", "v/inner", "v/inner/file", "v/inner/link"] {
                assert_eq!(fs::symlink_metadata(root.join(name)).expect("there").gid(), GID, "{name}");
            }
            assert_ne!(fs::symlink_metadata(root.join("outside")).expect("there").gid(), GID);
        }
    }
}

#[test]
fn a_root_that_is_right_spares_the_rest_where_that_is_requested() {
    let folder = tree();
    let root = folder.path();
    give(&root.join("v"), owner(true, false)).expect("given");
    assert_eq!(mode(root, "v/inner/file"), 0o660);
    fs::set_permissions(root.join("v/inner/file"), Permissions::from_mode(0o600)).expect("set");
    give(&root.join("v"), owner(true, false)).expect("given");
    assert_eq!(mode(root, "v/inner/file"), 0o600);
    give(&root.join("v"), owner(false, false)).expect("given");
    assert_eq!(mode(root, "v/inner/file"), 0o660);
    fs::set_permissions(root.join("v/inner/file"), Permissions::from_mode(0o600)).expect("set");
    for wrong in [0o0770, 0o2750, 0o2760] {
        fs::set_permissions(root.join("v"), Permissions::from_mode(wrong)).expect("set");
        fs::set_permissions(root.join("v/inner/file"), Permissions::from_mode(0o600)).expect("set");
        give(&root.join("v"), owner(true, false)).expect("given");
        assert_eq!(mode(root, "v/inner/file"), 0o660, "{wrong:o}");
    }
}

#[test]
fn a_root_of_another_group_is_a_mismatch() {
    let stat = |gid, mode| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut stat = rustix::fs::stat(folder.path()).expect("there");
        (stat.st_gid, stat.st_mode) = (gid, mode);
        stat
    };
    let owner = Ownership { gid: 7, on_root_mismatch: true, read_only: false };
    for (gid, mode, expected) in [
        (7, 0o42770, false),
        (7, 0o42777, false),
        (8, 0o42770, true),
        (7, 0o40770, true),
        (7, 0o42750, true),
        (7, 0o42760, true),
    ] {
        assert_eq!(differs(&stat(gid, mode), owner), expected, "{gid} {mode:o}");
    }
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut deep = folder.path().join("v");
    for _ in 0..=LEVELS_MAX + 1 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).expect("made");
    let error = give(&folder.path().join("v"), owner(false, false)).expect_err("too deep");
    assert_eq!(error.to_string(), "folders are nested deeper than 256");
}

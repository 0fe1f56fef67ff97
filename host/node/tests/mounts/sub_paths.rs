//! Places below volumes, and ways out that aren't any.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use witlet_core::volume::VolumeKind;
use witlet_ports::VolumeError;

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    ("a_place_is_made_with_the_mode_of_its_volume", a_place_is_made_with_the_mode_of_its_volume),
    ("files_of_any_kind_can_be_places", files_of_any_kind_can_be_places),
    ("a_later_instance_gets_what_is_there_then", a_later_instance_gets_what_is_there_then),
    ("links_within_the_volume_are_followed", links_within_the_volume_are_followed),
    ("links_out_of_the_volume_are_refused", links_out_of_the_volume_are_refused),
    ("a_volume_that_is_a_file_has_no_places", a_volume_that_is_a_file_has_no_places),
    (
        "a_place_that_is_exchanged_meanwhile_never_leads_out",
        a_place_that_is_exchanged_meanwhile_never_leads_out,
    ),
];

fn volume(fixture: &Fixture) -> PathBuf {
    let path = fixture.set_up("v", VolumeKind::EmptyDir, None).expect("set up");
    fs::create_dir(fixture.at("outside")).expect("made");
    fs::write(fixture.at("outside/secret"), "secret").expect("written");
    path
}

fn identity(path: &Path) -> (u64, u64) {
    let found = fs::metadata(path).expect("there");
    (found.dev(), found.ino())
}

fn a_place_is_made_with_the_mode_of_its_volume(fixture: &Fixture) {
    let volume = volume(fixture);
    // A folder that an earlier life left there, with nothing mounted, is no obstacle.
    fs::create_dir_all(fixture.at("pods/u-1/volume-subpaths/v/app/0")).expect("made");
    for mode in [0o750, 0o1777, 0o2777, 0o4777] {
        fs::set_permissions(&volume, fs::Permissions::from_mode(mode)).expect("set");
        let path = fixture.sub_path(&volume, &format!("mode/{mode:o}")).expect("made");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o7777, mode);
    }
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o2771)).expect("set");
    let path = fixture.sub_path(&volume, "a/b//./c").expect("made");
    assert_eq!(path, fixture.at("pods/u-1/volume-subpaths/v/app/0"));
    assert_eq!(identity(&path), identity(&volume.join("a/b/c")));
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o7777, 0o2771);
    fs::write(path.join("file"), "x").expect("written");
    assert!(volume.join("a/b/c/file").exists());
    // What is there keeps its mode.
    fs::set_permissions(volume.join("a/b"), fs::Permissions::from_mode(0o700)).expect("set");
    fixture.sub_path(&volume, "a/b/d").expect("made");
    assert_eq!(fs::metadata(volume.join("a/b")).expect("there").mode() & 0o7777, 0o700);
    let root = fixture.sub_path(&volume, ".").expect("the volume itself");
    assert_eq!(identity(&root), identity(&volume));
    fixture.tear_down().expect("torn down");
    assert_eq!((fixture.mounted(), fixture.at("pods/u-1/volume-subpaths").exists()), (vec![], false));
}

fn files_of_any_kind_can_be_places(fixture: &Fixture) {
    let volume = volume(fixture);
    let listener = UnixListener::bind(volume.join("socket")).expect("bound");
    rustix::fs::mkfifoat(CWD, volume.join("pipe"), rustix::fs::Mode::RWXU).expect("made");
    for name in ["socket", "pipe"] {
        let path = fixture.sub_path(&volume, name).expect("mounted");
        assert_eq!(identity(&path), identity(&volume.join(name)), "{name}");
    }
    drop(listener);
    fixture.sub_path(&volume, "socket/inner").expect_err("a socket is no folder");
    fs::write(volume.join("config"), "content").expect("written");
    let path = fixture.sub_path(&volume, "config").expect("mounted");
    assert_eq!(fs::read_to_string(&path).expect("read"), "content");
    fixture.sub_path(&volume, "config/inner").expect_err("a file is no folder");
    fixture.tear_down().expect("torn down");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

fn a_later_instance_gets_what_is_there_then(fixture: &Fixture) {
    let volume = volume(fixture);
    let first = fixture.sub_path(&volume, "a").expect("made");
    assert_eq!(fixture.sub_path(&volume, "a").expect("there"), first);
    assert_eq!(fixture.mounted().len(), 1);
    fs::rename(volume.join("a"), volume.join("old")).expect("moved");
    fixture.sub_path(&volume, "a").expect("made again");
    assert_eq!(identity(&first), identity(&volume.join("a")));
    assert_ne!(identity(&first), identity(&volume.join("old")));
    fs::remove_dir(volume.join("a")).expect("removed");
    fs::write(volume.join("a"), "a file now").expect("written");
    fixture.sub_path(&volume, "a").expect("mounted");
    assert_eq!(fs::read_to_string(&first).expect("read"), "a file now");
    assert_eq!(fixture.mounted().len(), 1);
}

fn links_within_the_volume_are_followed(fixture: &Fixture) {
    let volume = volume(fixture);
    fs::create_dir_all(volume.join("a/real")).expect("made");
    symlink("a", volume.join("short")).expect("linked");
    symlink("../short/real", volume.join("a/round")).expect("linked");
    // On a node's own folder links may name the whole path.
    symlink(volume.join("a"), volume.join("whole")).expect("linked");
    symlink(volume.join("whole"), volume.join("a/again")).expect("linked");
    let back = format!("../{}/a/real", volume.file_name().expect("a name").display());
    symlink(back, volume.join("back")).expect("linked");
    for path in ["short/real", "a/round", "whole/real", "whole/again/again/real", "back"] {
        let found = fixture.sub_path(&volume, path).expect("within");
        assert_eq!(identity(&found), identity(&volume.join("a/real")), "{path}");
    }
    let made = fixture.sub_path(&volume, "short/new/deep").expect("made behind a link");
    assert_eq!(identity(&made), identity(&volume.join("a/new/deep")));
}

fn links_out_of_the_volume_are_refused(fixture: &Fixture) {
    let volume = volume(fixture);
    fs::create_dir(volume.join("a")).expect("made");
    fs::create_dir(format!("{}x", volume.display())).expect("made");
    for (name, target) in [
        ("absolute", "/"),
        ("up", "../../../../.."),
        ("a/up", "../.."),
        ("self", "/proc/self/root"),
        ("outside", fixture.at("outside").to_str().expect("text")),
        // Its name begins like the volume's.
        ("next-to", &format!("{}x", volume.display())),
    ] {
        symlink(target, volume.join(name)).expect("linked");
        for path in [name.to_owned(), format!("{name}/x"), format!("{name}/x/y")] {
            let error = fixture.sub_path(&volume, &path).expect_err("a way out");
            assert!(matches!(error, VolumeError::Escapes { .. }), "{path}: {error}");
        }
    }
    for path in ["..", "a/..", "a/../..", "/etc"] {
        let error = fixture.sub_path(&volume, path).expect_err("a way out");
        assert!(matches!(error, VolumeError::Escapes { .. }), "{path}: {error}");
    }
    // Links that lead nowhere, or round, aren't made into folders.
    symlink("gone", volume.join("dead")).expect("linked");
    symlink("round", volume.join("round")).expect("linked");
    for path in ["dead", "dead/x", "round", "round/x"] {
        fixture.sub_path(&volume, path).expect_err("a link to nothing");
    }
    assert!(!volume.join("gone").exists());
    assert_eq!(fs::read_dir(fixture.at("outside")).expect("a folder").count(), 1);
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

fn a_volume_that_is_a_file_has_no_places(fixture: &Fixture) {
    fs::write(fixture.at("file"), "x").expect("written");
    fixture.sub_path(&fixture.at("file"), "a").expect_err("no folder");
    fixture.sub_path(&fixture.at("gone"), "a").expect_err("nothing");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

/// Ends the exchanging, also when the case fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A process in the pod exchanges a folder for a link out of the volume, all the time, while places behind it are asked for.
fn a_place_that_is_exchanged_meanwhile_never_leads_out(fixture: &Fixture) {
    const ROUNDS: usize = 2000;
    let volume = volume(fixture);
    fs::create_dir(volume.join("a")).expect("made");
    symlink(fixture.at("outside"), volume.join("evil")).expect("linked");
    let outside = identity(&fixture.at("outside"));
    let done = AtomicBool::new(false);
    let (mut mounted, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (here, there) = (volume.join("a"), volume.join("evil"));
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &here, CWD, &there, RenameFlags::EXCHANGE).expect("exchanged");
            }
        });
        let _end = End(&done);
        for round in 0..ROUNDS {
            // New folders behind the exchanged one, what is there already, and the exchanged one itself.
            let path = [format!("a/{round}/deep"), "a/there".to_owned(), "a".to_owned()][round % 3].clone();
            match fixture.sub_path(&volume, &path) {
                Ok(found) => {
                    mounted += 1;
                    assert_ne!(identity(&found), outside, "{path}");
                    assert!(!found.join("secret").exists(), "{path}");
                }
                Err(_) => refused += 1,
            }
        }
    });
    // Nothing was made outside either.
    assert_eq!(fs::read_dir(fixture.at("outside")).expect("a folder").count(), 1);
    assert_eq!(mounted + refused, ROUNDS);
    assert!(mounted > 0, "no place was ever mounted");
    fixture.tear_down().expect("torn down");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

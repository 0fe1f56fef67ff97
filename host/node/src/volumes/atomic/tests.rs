//! Files that are replaced at once, on a real disk.

use std::cell::Cell;
use std::os::unix::fs::MetadataExt;

use super::*;

fn volume() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let volume = folder.path().join("v");
    fs::create_dir(&volume).expect("made");
    (folder, volume)
}

fn file(path: &str, content: &str) -> VolumeFile {
    VolumeFile { path: path.into(), content: content.into(), mode: 0o640, owner: None }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn put(volume: &Path, files: &[VolumeFile]) {
    write(volume, files, at(0), |_| Ok(())).expect("written");
}

fn data(volume: &Path) -> PathBuf {
    fs::read_link(volume.join(DATA)).expect("a link")
}

fn visible(volume: &Path) -> Vec<OsString> {
    links(volume).expect("listed").into_iter().collect()
}

fn read(volume: &Path, name: &str) -> String {
    fs::read_to_string(volume.join(name)).expect("read")
}

#[test]
fn files_are_seen_through_links_to_a_folder_with_a_time() {
    let (_folder, volume) = volume();
    put(&volume, &[file("a", "1"), file("b/c/d", "2"), file("b/e", "3")]);
    assert_eq!(
        (read(&volume, "a"), read(&volume, "b/c/d"), read(&volume, "b/e")),
        ("1".into(), "2".into(), "3".into())
    );
    assert_eq!(visible(&volume), ["a", "b"]);
    assert_eq!(fs::read_link(volume.join("b")).expect("a link"), Path::new("..data/b"));
    let name = data(&volume).display().to_string();
    assert!(name.starts_with("..2027_01_15_08_00_00."), "{name}");
    let mode = |name: &str| fs::metadata(volume.join(name)).expect("there").mode() & 0o7777;
    assert_eq!((mode("a"), mode("b/c"), mode("..data")), (0o640, 0o755, 0o755));
}

#[test]
fn hidden_files_deep_files_and_any_mode_are_written() {
    let (_folder, volume) = volume();
    let modes = [
        (".dotfile", 0o777),
        (".dotfile.file", 0o666),
        ("1/2/3/4/5/6/7/8/9/10/.dotfile.lib", 0o400),
        ("a", 0o407),
    ];
    let binary: Vec<u8> = (0..=255).collect();
    let files = modes.map(|(path, mode)| VolumeFile {
        path: path.into(),
        content: binary.clone(),
        mode,
        owner: None,
    });
    put(&volume, &files);
    assert_eq!(visible(&volume), [".dotfile", ".dotfile.file", "1", "a"]);
    for (path, mode) in modes {
        let found = volume.join(path);
        assert_eq!(fs::metadata(&found).expect("there").mode() & 0o7777, mode, "{path}");
        assert_eq!(fs::read(found).expect("read"), binary, "{path}");
    }
    let before = data(&volume);
    put(&volume, &files);
    assert_eq!(data(&volume), before);
}

#[test]
fn what_is_right_already_is_not_written_again() {
    let (_folder, volume) = volume();
    let files = [file("a", "1"), file("b/c", "2")];
    put(&volume, &files);
    let before = data(&volume);
    put(&volume, &files);
    assert_eq!(data(&volume), before);
    let [a, b] = files;
    put(&volume, &[b, a]);
    assert_eq!(data(&volume), before);
}

#[test]
fn each_difference_is_written() {
    let start = || vec![file("a", "1"), file("b/c", "2")];
    for (what, files, expected) in [
        ("content", vec![file("a", "other"), file("b/c", "2")], &["a", "b"][..]),
        ("longer", vec![file("a", "11"), file("b/c", "2")], &["a", "b"]),
        ("shorter", vec![file("a", ""), file("b/c", "2")], &["a", "b"]),
        ("one more", vec![file("a", "1"), file("b/c", "2"), file("d", "3")], &["a", "b", "d"]),
        ("one more in a folder", vec![file("a", "1"), file("b/c", "2"), file("b/d", "3")], &["a", "b"]),
        ("one less", vec![file("a", "1")], &["a"]),
        ("a file for a folder", vec![file("a", "1"), file("b", "2")], &["a", "b"]),
        ("a folder for a file", vec![file("a/x", "1"), file("b/c", "2")], &["a", "b"]),
        ("nothing", vec![], &[]),
    ] {
        let (_folder, volume) = volume();
        put(&volume, &start());
        let before = data(&volume);
        put(&volume, &files);
        assert_ne!(data(&volume), before, "{what}");
        assert_eq!(visible(&volume), expected, "{what}");
        for file in &files {
            assert_eq!(read(&volume, file.path.to_str().expect("text")).as_bytes(), file.content, "{what}");
        }
        // The old folder is gone, and no other name of the writer is left.
        assert!(!volume.join(before).exists(), "{what}");
        assert_eq!(names(&volume).expect("listed").len(), expected.len() + 2, "{what}");
    }
    // One less in a folder that stays visible.
    let (_folder, volume) = volume();
    put(&volume, &[file("b/c", "1"), file("b/d", "2")]);
    put(&volume, &[file("b/c", "1")]);
    assert!(!volume.join("b/d").exists());
}

#[test]
fn what_a_crash_left_is_no_obstacle_and_goes() {
    let (_folder, volume) = volume();
    put(&volume, &[file("a", "1")]);
    fs::create_dir(volume.join("..2020_01_01_00_00_00.1")).expect("made");
    fs::write(volume.join("..2020_01_01_00_00_00.1/a"), "half").expect("written");
    symlink("..2020_01_01_00_00_00.1", volume.join(DATA_NEW)).expect("linked");
    // Before the first publication: a folder without a link, and a visible link.
    symlink("..data/gone", volume.join("gone")).expect("linked");
    put(&volume, &[file("a", "2")]);
    assert_eq!((read(&volume, "a"), visible(&volume)), ("2".into(), vec![OsString::from("a")]));
    assert_eq!(names(&volume).expect("listed").len(), 3);
}

#[test]
fn a_link_to_a_folder_that_is_gone_is_no_obstacle() {
    for files in [vec![], vec![file("a", "1")]] {
        let (_folder, volume) = volume();
        put(&volume, &files);
        fs::remove_dir_all(volume.join(data(&volume))).expect("removed");
        put(&volume, &files);
        assert!(volume.join(DATA).is_dir());
        assert_eq!(visible(&volume).len(), files.len());
    }
}

#[test]
fn a_link_to_elsewhere_is_not_taken_for_what_is_there() {
    for target in ["/etc", "../outside", "..", "."] {
        let (folder, volume) = volume();
        fs::create_dir(folder.path().join("outside")).expect("made");
        fs::write(folder.path().join("outside/a"), "1").expect("written");
        symlink(target, volume.join(DATA)).expect("linked");
        put(&volume, &[file("a", "1")]);
        assert!(data(&volume).as_os_str().as_bytes().starts_with(b"..2027"), "{target}");
        assert!(folder.path().join("outside/a").exists());
    }
}

#[test]
fn readers_see_the_old_files_until_the_new_ones_are_whole_and_owned() {
    let (_folder, volume) = volume();
    put(&volume, &[file("a", "1"), file("b", "1")]);
    let reported = Cell::new(0);
    let own = |fresh: &Path| {
        reported.set(reported.get() + 1);
        assert_eq!((read(&volume, "a"), read(&volume, "b")), ("1".into(), "1".into()));
        assert_eq!((read(fresh, "a"), read(fresh, "b")), ("2".into(), "2".into()));
        Ok(())
    };
    write(&volume, &[file("a", "2"), file("b", "2")], at(1), own).expect("written");
    assert_eq!((reported.get(), read(&volume, "a")), (1, "2".into()));
}

#[test]
fn a_failure_leaves_the_old_files_and_nothing_else() {
    let (_folder, volume) = volume();
    put(&volume, &[file("a", "1")]);
    let before = names(&volume).expect("listed").len();
    let clash = [file("a", "2"), file("a/b", "3")];
    write(&volume, &clash, at(1), |_| Ok(())).expect_err("a file is no folder");
    let denied = |_: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
    write(&volume, &[file("a", "2")], at(1), denied).expect_err("not owned");
    assert_eq!((read(&volume, "a"), names(&volume).expect("listed").len()), ("1".into(), before));
}

//! Tests on a real disk of what is read and what isn't.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn only_regular_files_of_the_volume_are_read_and_only_so_much() {
    let outer = tempfile::tempdir().expect("a folder");
    let volume = outer.path().join("volume");
    fs::create_dir_all(volume.join("sub")).expect("made");
    fs::write(outer.path().join("secret"), "s").expect("written");
    fs::write(volume.join("sub/env"), "A='1'").expect("written");
    fs::write(volume.join("large"), [b'x'; 11]).expect("written");
    symlink("sub/env", volume.join("within")).expect("linked");
    symlink("../secret", volume.join("out")).expect("linked");
    symlink(outer.path().join("secret"), volume.join("out-absolute")).expect("linked");
    symlink(outer.path(), volume.join("folder-out")).expect("linked");
    symlink("around", volume.join("around")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, volume.join("pipe"), Mode::RUSR).expect("made");
    // To open one is an error of its own: it isn't tried.
    let _socket = std::os::unix::net::UnixListener::bind(volume.join("socket")).expect("bound");
    let words = |path: &str| match read(&volume, Path::new(path), 10) {
        Ok(Some(content)) => String::from_utf8_lossy(&content).into_owned(),
        Ok(None) => "nothing".to_owned(),
        Err(VolumeError::Escapes { .. }) => "escapes".to_owned(),
        Err(VolumeError::Io { cause, .. }) => cause.to_string(),
        Err(error) => error.to_string(),
    };
    for (path, expected) in [
        ("sub/env", "A='1'"),
        ("within", "A='1'"),
        ("missing", "nothing"),
        ("sub/missing/env", "nothing"),
        ("../secret", "escapes"),
        ("out", "escapes"),
        ("out-absolute", "escapes"),
        ("folder-out/secret", "escapes"),
        ("around", "escapes"),
        ("large", "larger than 10 bytes"),
        ("sub", "not a regular file"),
        ("socket", "not a regular file"),
        ("pipe", "not a regular file"),
    ] {
        assert_eq!(words(path), expected, "{path}");
    }
}

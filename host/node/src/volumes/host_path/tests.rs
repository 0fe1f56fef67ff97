//! Types of paths on the host, on a real disk.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use super::*;
use HostPathCheck::*;

/// What the check says, by its message.
fn of(path: &Path, required: HostPathCheck) -> Result<(), String> {
    check(path, required).map_err(|error| error.to_string().replace(&path.display().to_string(), "P"))
}

#[test]
fn a_path_is_what_its_type_says_or_the_difference_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).expect("made");
    fs::write(at("file"), "x").expect("written");
    let _socket = UnixListener::bind(at("socket")).expect("bound");
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).expect("made");
    symlink("folder", at("link")).expect("linked");
    symlink("gone", at("dead")).expect("linked");
    let is_not = |expected: &str, found: &str| {
        Err(format!("hostPath type check failed: P is not a {expected}, it's a {found}"))
    };
    let missing = || Err("hostPath P doesn't exist".to_owned());
    for (name, required, expected) in [
        ("folder", Unset, Ok(())),
        ("gone", Unset, Ok(())),
        ("folder", Directory, Ok(())),
        ("link", Directory, Ok(())),
        ("file", Directory, is_not("directory", "File")),
        ("gone", Directory, missing()),
        ("dead", Directory, missing()),
        ("folder", DirectoryOrCreate, Ok(())),
        ("file", DirectoryOrCreate, is_not("directory", "File")),
        ("file", File, Ok(())),
        ("folder", File, is_not("file", "Directory")),
        ("socket", File, is_not("file", "Socket")),
        ("pipe", File, is_not("file", "other kind of file")),
        ("gone", File, missing()),
        ("file", FileOrCreate, Ok(())),
        ("folder", FileOrCreate, is_not("file", "Directory")),
        ("socket", Socket, Ok(())),
        ("file", Socket, is_not("socket file", "File")),
        ("gone", Socket, missing()),
        ("file", CharDevice, is_not("character device", "File")),
        ("gone", CharDevice, missing()),
        ("folder", BlockDevice, is_not("block device", "Directory")),
        ("gone", BlockDevice, missing()),
    ] {
        assert_eq!(of(&at(name), required), expected, "{name} {required:?}");
    }
    let null = Path::new("/dev/null");
    assert_eq!(of(null, CharDevice), Ok(()));
    assert_eq!(of(null, BlockDevice), is_not("block device", "CharDevice"));
}

#[test]
fn what_may_be_made_is_made_and_left_alone_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("a/b/c");
    let file = folder.path().join("file");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    for _ in 0..2 {
        assert_eq!(of(&deep, DirectoryOrCreate), Ok(()));
        assert_eq!(of(&file, FileOrCreate), Ok(()));
    }
    assert!(deep.is_dir() && file.is_file());
    // The process's mask may take bits away, as upstream's does.
    assert_eq!((mode(&deep) & !0o755, mode(&file) & !0o644), (0, 0));
    fs::write(&file, "kept").expect("written");
    assert_eq!(of(&file, FileOrCreate), Ok(()));
    assert_eq!(fs::read(&file).expect("read"), b"kept");
}

#[test]
fn a_file_needs_its_folder_and_a_folder_no_file_in_its_way() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(of(&folder.path().join("gone/file"), FileOrCreate), Err("create file P".to_owned()));
    fs::write(folder.path().join("file"), "x").expect("written");
    assert_eq!(of(&folder.path().join("file/inner"), DirectoryOrCreate), Err("create folder P".to_owned()));
}

//! Files that hold secrets, and files that don't.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn file(folder: &Path, bytes: &[u8], mode: u32) -> PathBuf {
    let path = folder.join("secret");
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).expect("a folder of our own");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a file of our own");
    path
}

#[test]
fn a_secret_is_what_its_file_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    for (bytes, mode) in [(&b"s3cret\n"[..], 0o600), (b"", 0o400), (b"\0\xff", 0o700)] {
        let path = file(folder.path(), bytes, mode);
        assert_eq!(&*read_secret(&path).expect("it is one"), bytes);
    }
    let most = vec![7; usize::try_from(SECRET_BYTES_MAX).expect("it is small")];
    let path = file(folder.path(), &most, 0o600);
    assert_eq!(&*read_secret(&path).expect("it is one"), &most[..]);
    let link = folder.path().join("link");
    symlink(&path, &link).expect("a folder of our own");
    assert_eq!(read_secret(&link).expect("a link to one").len(), most.len());
}

#[test]
fn what_others_can_read_or_write_isnt_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    for mode in [0o640, 0o604, 0o620, 0o602, 0o644, 0o610, 0o601] {
        let path = file(folder.path(), b"x", mode);
        let error = read_secret(&path).expect_err("others may");
        assert!(matches!(error, SecretError::Mode { mode: found, .. } if found == mode), "{error}");
        assert!(error.to_string().contains(&format!("mode 0600 or 0400, found {mode:04o}")), "{error}");
    }
}

#[test]
fn what_holds_no_secret_is_refused_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    let error = read_secret(&missing).expect_err("it isn't there");
    assert!(matches!(error, SecretError::Read { .. }) && error.to_string().contains("missing"), "{error}");
    assert!(matches!(read_secret(folder.path()), Err(SecretError::NotAFile { .. })));
    assert!(matches!(read_secret(Path::new("/dev/null")), Err(SecretError::NotAFile { .. })));
    let large = vec![7; usize::try_from(SECRET_BYTES_MAX + 1).expect("it is small")];
    let path = file(folder.path(), &large, 0o600);
    assert!(matches!(read_secret(&path), Err(SecretError::Large { .. })));
}

#[test]
fn a_pipe_in_its_place_isnt_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a folder of our own");
    assert!(matches!(read_secret(&path), Err(SecretError::NotAFile { .. })));
}

#[test]
fn only_roots_and_our_own_files_hold_secrets() {
    let path = Path::new("/etc/witlet/password");
    let facts = |owner| Facts { is_file: true, owner, mode: 0o600, bytes: 6 };
    for (owner, user, trusted) in
        [(0, 0, true), (0, 1000, true), (1000, 1000, true), (1000, 0, false), (1001, 1000, false)]
    {
        match judge(path, &facts(owner), user) {
            Ok(()) => assert!(trusted, "{owner} {user}"),
            Err(error) => {
                assert!(!trusted, "{owner} {user}: {error}");
                assert!(
                    matches!(error, SecretError::Owner { owner: found, .. } if found == owner),
                    "{error}"
                );
            }
        }
    }
}

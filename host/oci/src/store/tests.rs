//! What the folder keeps, and what it refuses.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const LIMIT: u64 = 1 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn store(folder: &Path) -> Store {
    Store::open(&folder.join("components")).expect("opened")
}

fn names(store: &Store) -> Vec<String> {
    let files = std::fs::read_dir(&store.folder).expect("listed");
    let mut names: Vec<_> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_was_kept_comes_back_and_no_one_else_can_read_it() {
    let folder = folder();
    let store = store(folder.path());
    let digest = digest_of(b"component");
    assert_eq!(store.read(&digest, LIMIT), None);
    store.write(&digest, b"component").expect("kept");
    assert_eq!(store.read(&digest, LIMIT).as_deref(), Some(&b"component"[..]));
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&store.folder), 0o700);
    assert_eq!(mode(&store.path(&digest).expect("a digest")), 0o600);
    // Once more over itself.
    store.write(&digest, b"component").expect("kept");
    assert_eq!(names(&store).len(), 1);
}

#[test]
fn what_was_tampered_with_is_gone() {
    let folder = folder();
    let store = store(folder.path());
    let digest = digest_of(b"component");
    let path = store.path(&digest).expect("a digest");
    let elsewhere = folder.path().join("elsewhere");
    std::fs::write(&elsewhere, b"component").expect("written");
    let tampered: [(&str, &dyn Fn()); 4] = [
        ("other bytes", &|| std::fs::write(&path, b"c0mponent").expect("written")),
        ("cut off", &|| std::fs::write(&path, b"comp").expect("written")),
        ("endless", &|| std::fs::write(&path, vec![0; LIMIT as usize + 1]).expect("written")),
        // Right bytes, but in a place that someone else may write to.
        ("a link", &|| symlink(&elsewhere, &path).expect("linked")),
    ];
    for (what, tamper) in tampered {
        tamper();
        assert_eq!(store.read(&digest, LIMIT), None, "{what}");
        assert!(!path.is_symlink() && !path.exists(), "{what} is removed");
    }
    assert!(elsewhere.exists(), "only the link is removed");
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let folder = folder();
    let open = folder.path().join("open");
    std::fs::create_dir(&open).expect("made");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("opened");
    assert!(matches!(Store::open(&open), Err(StoreError::Unsafe { .. })));
    let link = folder.path().join("link");
    let own = folder.path().join("own");
    std::fs::create_dir(&own).expect("made");
    symlink(&own, &link).expect("linked");
    assert!(matches!(Store::open(&link), Err(StoreError::Unsafe { .. })));
}

#[test]
fn no_text_from_a_manifest_leads_out_of_the_folder() {
    let folder = folder();
    let store = store(folder.path());
    for digest in ["sha256:../../etc/passwd", "sha256:", "../x", "md5:00", ""] {
        assert_eq!(store.path(digest), None, "{digest}");
        assert_eq!(store.read(digest, LIMIT), None, "{digest}");
    }
}

#[test]
fn the_one_that_was_used_longest_ago_frees_capacity() {
    let folder = folder();
    let store = Store::bounded(&folder.path().join("components"), 100, 3).expect("opened");
    let old = |bytes: &[u8], seconds: u64| {
        let path = store.path(&digest_of(bytes)).expect("a digest");
        let file = File::options().write(true).open(path).expect("there");
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        file.set_modified(time).expect("made old");
    };
    for (age, bytes) in [(10, b"one"), (20, b"two"), (30, b"six")] {
        store.write(&digest_of(bytes), bytes).expect("kept");
        old(bytes, age);
    }
    // Used again, so that it isn't the oldest any more.
    assert!(store.read(&digest_of(b"one"), LIMIT).is_some());
    store.write(&digest_of(b"ten"), b"ten").expect("kept");
    let kept = |bytes: &[u8]| store.read(&digest_of(bytes), LIMIT).is_some();
    assert_eq!([kept(b"one"), kept(b"two"), kept(b"six"), kept(b"ten")], [true, false, true, true]);
    // By size, too, and a half that a crash left goes first.
    std::fs::write(store.folder.join("0.part"), b"half").expect("written");
    store.write(&digest_of(&[7; 95]), &[7; 95]).expect("kept");
    assert!(kept(&[7; 95]) && !store.folder.join("0.part").exists());
    assert!(names(&store).len() <= 2, "{:?}", names(&store));
}

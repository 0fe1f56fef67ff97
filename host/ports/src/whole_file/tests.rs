//! What is left of a file that is replaced, and of one that can't be.

use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;

#[test]
fn a_file_is_replaced_with_its_mode_and_links_are_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("state"), "old").unwrap();
    fs::write(at("other"), "stays").unwrap();
    symlink(at("other"), at("state.new")).unwrap();
    replace_file(&at("state"), &at("state.new"), b"new", 0o600).unwrap();
    assert_eq!(fs::read(at("state")).unwrap(), b"new");
    assert_eq!(fs::metadata(at("state")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read(at("other")).unwrap(), b"stays");
    assert!(!at("state.new").exists());
}

#[test]
fn a_failure_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("state")).unwrap();
    assert!(replace_file(&at("state"), &at("state.new"), b"new", 0o600).is_err(), "it is a folder");
    assert!(at("state").is_dir() && !at("state.new").exists());
    fs::create_dir(at("taken.new")).unwrap();
    assert!(replace_file(&at("taken"), &at("taken.new"), b"new", 0o600).is_err());
    assert!(!at("taken").exists() && at("taken.new").is_dir(), "what is no file is no one's to remove");
}

#[test]
fn a_file_is_replaced_whole_however_durable_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (durability, content) in
        [(Durability::Replaced, "a"), (Durability::Whole, "b"), (Durability::None, "c")]
    {
        replace_file_with(&at("state"), &at("state.new"), content.as_bytes(), 0o600, durability).unwrap();
        assert_eq!(fs::read_to_string(at("state")).unwrap(), content);
        assert!(!at("state.new").exists());
    }
}

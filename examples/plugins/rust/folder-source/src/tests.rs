//! Tests on real folders; the component itself is asked the shared cases.

use std::fs;
use std::path::Path;

use witlet_plugin_sdk::source::{PodSource, Poll, Snapshot, SourceError};

use super::{Config, FolderSource};

const POD: &str = r#"{"kind": "Pod", "metadata": {"name": "web"}}"#;

fn poll(folder: &Path, last: Option<&Poll>) -> Result<Poll, SourceError> {
    let config = Config { folder: folder.display().to_string() };
    FolderSource::validate(&config).expect("an absolute path");
    FolderSource::poll(last.and_then(|last| last.cursor.as_deref()), &config)
}

fn write(folder: &Path, name: &str, contents: impl AsRef<[u8]>) {
    fs::write(folder.join(name), contents).expect("a temporary folder");
}

fn refused(folder: &Path) -> (String, String) {
    let error = poll(folder, None).expect_err("it isn't right");
    (error.reason, error.message)
}

#[test]
fn files_come_and_change_and_go() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let nothing = poll(folder, None).expect("an empty folder");
    assert_eq!(nothing.snapshot, Snapshot::Empty);
    assert_eq!(poll(folder, Some(&nothing)).expect("it is the same").snapshot, Snapshot::Unchanged);

    write(folder, "b.json", POD);
    write(folder, "a.json", r#"{"kind": "Pod"}"#);
    let both = poll(folder, Some(&nothing)).expect("two pods");
    assert_eq!(both.snapshot, Snapshot::Pods(vec![r#"{"kind": "Pod"}"#.to_owned(), POD.to_owned()]));
    assert_eq!(poll(folder, Some(&both)).expect("they are the same").snapshot, Snapshot::Unchanged);

    fs::remove_file(folder.join("a.json")).expect("it is there");
    let one = poll(folder, Some(&both)).expect("one pod");
    assert_eq!(one.snapshot, Snapshot::Pods(vec![POD.to_owned()]));
}

#[test]
fn what_isnt_a_visible_json_file_of_the_folder_is_left_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    for name in [".web.json", "web.yaml", "web.json.swp", "README"] {
        write(folder, name, "no pod");
    }
    fs::create_dir(folder.join("folder.json")).expect("a temporary folder");
    assert_eq!(poll(folder, None).expect("nothing to see").snapshot, Snapshot::Empty);
}

#[test]
fn a_file_that_is_no_pod_is_an_error_that_names_it() {
    for (contents, problem) in [
        (b"".to_vec(), "web.json: EOF while parsing a value at line 1 column 0"),
        (b"[]".to_vec(), "web.json: it is no object of kind Pod"),
        (br#"{"kind": "Service"}"#.to_vec(), "web.json: it is no object of kind Pod"),
        (br#"{"kind": ["Pod"]}"#.to_vec(), "web.json: it is no object of kind Pod"),
        (b"{\"kind\": \"\xff\"}".to_vec(), "web.json: it isn't UTF-8"),
        (vec![b' '; (1 << 20) + 1], "web.json: must have at most 1048576 bytes"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), "web.json", contents);
        assert_eq!(refused(folder.path()), ("Invalid".to_owned(), problem.to_owned()));
    }
}

#[test]
fn a_folder_that_isnt_there_is_no_empty_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (reason, message) = refused(&folder.path().join("gone"));
    assert_eq!(reason, "Unavailable");
    assert!(message.contains("gone"), "{message}");
}

#[test]
fn a_relative_folder_is_refused() {
    let error = FolderSource::validate(&Config { folder: "pods".to_owned() }).expect_err("relative");
    assert_eq!(error.to_string(), "folder: must be an absolute path");
}

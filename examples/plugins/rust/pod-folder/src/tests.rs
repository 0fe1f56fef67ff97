//! What the source makes of folders, and of what it receives.

use witlet_plugin_sdk_0_2::facts::{take_log, validate_source};
use witlet_plugin_sdk_0_2::source::Snapshot;

use super::*;

#[test]
fn files_are_pods_until_they_change() {
    let node = tempfile::TempDir::new().expect("a folder");
    let source = Folder { folder: node.path().display().to_string() };
    let first = source.poll(None).expect("it is there");
    assert_eq!(first.snapshot(), &Snapshot::Empty);
    let pod = r#"{"kind": "Pod"}"#;
    fs::write(node.path().join("web.json"), pod).expect("writable");
    fs::write(node.path().join(".hidden.json"), "half").expect("writable");
    let second = source.poll(None).expect("it is there");
    assert_eq!(second.snapshot(), &Snapshot::Pods(vec![pod.to_owned()]));
    let cursor = fingerprint(["web.json", pod]);
    assert_eq!(second, Poll::all([pod]).cursor(&cursor));
    assert_eq!(source.poll(Some(&cursor)), Ok(Poll::unchanged().cursor(&cursor)));
    fs::write(node.path().join("bad.json"), "half").expect("writable");
    let error = source.poll(Some(&cursor)).expect_err("it is no pod");
    assert_eq!(error.code(), "Invalid");
    assert!(error.message().starts_with("bad.json: "), "{error}");
    let nowhere = Folder { folder: "/does/not/exist".to_owned() };
    assert_eq!(nowhere.poll(None).map_err(|error| error.code().to_owned()), Err("Unavailable".to_owned()));
}

#[test]
fn what_is_refused_is_logged() {
    let source = Folder { folder: "/pods".to_owned() };
    let left_out = Change {
        reason: "PodForbidden".to_owned(),
        message: "no".to_owned(),
        ..Change::left_out("default", "web")
    };
    let running = Change { phase: "Running".to_owned(), ..Change::default() };
    assert_eq!(source.notify(&[left_out, running]), Ok(()));
    let lines: Vec<String> = take_log().into_iter().map(|line| line.message).collect();
    assert_eq!(lines, ["pod default/web isn't run: PodForbidden: no"]);
    assert_eq!(validate_source(&source), Ok(Vec::new()));
    let relative = validate_source(&Folder { folder: "pods".to_owned() }).map_err(|error| error.to_string());
    assert_eq!(relative, Err("InvalidConfiguration: folder: must be an absolute path".to_owned()));
}

//! Other pods are reported, and the same ones aren't.

use witlet_core::sources::plugin::{PollResponse, Snapshot};

use super::*;
use crate::plugin_response::answered;

fn polled(snapshot: Snapshot) -> CallResult {
    answered(Ok(Ok(PollResponse { snapshot, cursor: None, next_poll: None })))
}

fn pods(names: &[&str]) -> CallResult {
    let pod = |name: &&str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
    polled(Snapshot::Pods(names.iter().map(pod).collect()))
}

#[test]
fn other_pods_are_reported_and_the_same_ones_are_not() {
    let brought = set(&pods(&["a", "b"])).expect("pods");
    for (answered, expected) in [
        (pods(&["b", "a"]), None),
        (polled(Snapshot::Unchanged), None),
        (polled(Snapshot::Empty), Some("the pods default/a, default/b before, and now empty")),
        (pods(&["a"]), Some("the pods default/a, default/b before, and now default/a")),
    ] {
        assert_eq!(other_pods(&answered, &brought).as_deref(), expected);
    }
}

#[test]
fn files_of_the_kits_own_have_the_extensions_of_the_worlds() {
    let content = [("web.json".to_owned(), Content::File(b"{}".to_vec()))].into();
    assert_eq!(files(&content, false).len(), 1);
    let files = files(&content, true);
    assert_eq!(files.len(), 1 + FILES);
    assert!(files.keys().all(|name| name.ends_with(".json")));
}

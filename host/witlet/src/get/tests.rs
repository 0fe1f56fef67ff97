//! Rows of tables, from what the local API answers.

use serde_json::json;

use super::*;

#[test]
fn the_object_of_an_event_can_be_found() {
    let object = |object: Value| {
        event_row(&json!({"involvedObject": object, "count": 1}), false, Timestamp::UNIX_EPOCH)[4].clone()
    };
    assert_eq!(object(json!({"kind": "Pod", "namespace": "default", "name": "web"})), "pod/web");
    assert_eq!(object(json!({"kind": "Plugin", "name": "p"})), "plugin/p");
    assert_eq!(object(json!({"kind": "Node"})), "node");
    assert_eq!(object(json!({"kind": "Source", "name": "file", "place": "/pods/a.yaml"})), "/pods/a.yaml");
}

#[test]
fn a_wide_table_says_which_container_an_event_is_about() {
    let object =
        json!({"kind": "Pod", "namespace": "default", "name": "web", "fieldPath": "spec.containers{app}"});
    let event = json!({"involvedObject": object, "count": 1, "message": "Container started"});
    let row = |wide| event_row(&event, wide, Timestamp::UNIX_EPOCH);
    assert_eq!(row(true)[4..], ["pod/web", "spec.containers{app}", "Container started"]);
    assert_eq!(row(false)[4..], ["pod/web", "Container started"]);
}

#[test]
fn a_node_whose_source_cannot_be_read_says_so_though_it_is_ready() {
    let node = |conditions: Value| -> Node {
        serde_json::from_value(
            serde_json::json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}}),
        )
        .expect("a node")
    };
    let row = |conditions: Value| {
        let row = node_row(&node(conditions), Timestamp::UNIX_EPOCH);
        (row[1].clone(), row[4].clone())
    };
    let condition =
        |kind: &str, status: &str| serde_json::json!({"type": kind, "status": status, "message": kind});
    let (ready, unread) = ("Ready", "PodSourceUnreadable");
    for (found, expected) in [
        (vec![], ("Unknown", "")),
        (vec![condition(ready, "True")], ("Ready", "")),
        (vec![condition(ready, "True"), condition(unread, "False")], ("Ready", "")),
        (vec![condition(ready, "True"), condition(unread, "True")], ("Ready", "PodSourceUnreadable")),
        (
            vec![condition(ready, "False"), condition(unread, "True")],
            ("NotReady", "Ready; PodSourceUnreadable"),
        ),
    ] {
        assert_eq!(row(found.into()), (expected.0.to_owned(), expected.1.to_owned()));
    }
}

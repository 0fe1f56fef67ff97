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

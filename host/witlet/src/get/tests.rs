//! Rows of tables, from what the local API answers.

use serde_json::json;

use super::*;

#[test]
fn the_object_of_an_event_can_be_found() {
    let object = |object: Value| {
        event_row(&json!({"involvedObject": object, "count": 1}), Timestamp::UNIX_EPOCH)[4].clone()
    };
    assert_eq!(object(json!({"kind": "Pod", "namespace": "default", "name": "web"})), "pod/web");
    assert_eq!(object(json!({"kind": "Plugin", "name": "p"})), "plugin/p");
    assert_eq!(object(json!({"kind": "Node"})), "node");
    assert_eq!(object(json!({"kind": "Source", "name": "file", "place": "/pods/a.yaml"})), "/pods/a.yaml");
}

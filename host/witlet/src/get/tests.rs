//! Rows of tables, from what the local API answers.

use serde_json::json;

use super::*;

#[test]
fn a_plugin_that_is_not_ready_says_why() {
    let row = |more: Value| {
        let mut plugin = json!({
            "name": "p", "role": "admission", "state": "Failed", "digest": "0123456789abcdef0123", "calls": 7,
            "failures": 2, "detail": null, "pending": null, "lastError": null,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            plugin[key] = value.clone();
        }
        plugin_row(&plugin).join("|")
    };
    assert_eq!(row(json!({})), "p|admission|Failed|0123456789abcdef012|7|2|");
    assert!(row(json!({"detail": "no component", "lastError": "trap"})).ends_with("|no component"));
    assert!(row(json!({"pending": "won't load", "lastError": "trap"})).ends_with("|won't load"));
    assert!(row(json!({"lastError": "trap"})).ends_with("|trap"));
}

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

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
        (vec![condition(ready, "True"), condition("DiskPressure", "False")], ("Ready", "")),
        (vec![condition(ready, "True"), condition("DiskPressure", "True")], ("Ready", "DiskPressure")),
        (
            vec![condition(ready, "False"), condition(unread, "True")],
            ("NotReady", "Ready; PodSourceUnreadable"),
        ),
    ] {
        assert_eq!(row(found.into()), (expected.0.to_owned(), expected.1.to_owned()));
    }
}

#[test]
fn a_threshold_says_how_far_away_it_is() {
    let state = |available: i64, distance: i64| {
        json!({
            "signal": "nodefs.available", "threshold": "10%", "gracePeriodSeconds": null, "available": available,
            "capacity": 100_i64 << 30, "distance": distance, "inBytes": true,
        })
    };
    let row = |state: Value| threshold_row(&state).join("|");
    let far = state(15 << 30, 5 << 30);
    assert_eq!(row(far), "nodefs.available|10%|hard|15.0 GiB|100.0 GiB|5.0 GiB");
    let met = state(9 << 30, -(1 << 30));
    assert_eq!(row(met), "nodefs.available|10%|hard|9.0 GiB|100.0 GiB|met, 1.0 GiB short");
    let soft = json!({
        "signal": "pid.available", "threshold": "1k", "gracePeriodSeconds": 90, "available": 1500, "capacity": 32768,
        "distance": 500, "inBytes": false,
    });
    assert_eq!(row(soft), "pid.available|1k|90s|1500|32768|500");
    let unread = json!({"signal": "imagefs.available", "threshold": "15%", "inBytes": true});
    assert_eq!(row(unread), "imagefs.available|15%|hard|<unknown>|<unknown>|<unknown>");
}

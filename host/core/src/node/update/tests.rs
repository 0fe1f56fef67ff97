//! Patches of the node, and when they are sent.

use serde_json::json;

use super::*;

fn node(value: Value) -> Node {
    serde_json::from_value(value).expect("a node")
}

fn existing() -> Node {
    node(json!({
        "metadata": {"name": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "1", "b": "2"}},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "capacity": {"cpu": "2", "hugepages-2Mi": "0"},
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
            "conditions": [
                {"type": "NetworkUnavailable", "status": "False"},
                {"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:00Z", "reason": "KubeletReady"},
            ],
            "images": [],
        },
    }))
}

fn changed(pointer: &str, value: Value) -> Node {
    let mut whole = serde_json::to_value(existing()).expect("JSON");
    *whole.pointer_mut(pointer).expect("the case names a place") = value;
    node(whole)
}

#[test]
fn a_patch_names_what_changed_alone() {
    let ready = "/status/conditions/1";
    let cases = [
        (existing(), None),
        (changed("/spec/podCIDR", json!("10.1.0.0/24")), None),
        (changed("/metadata/resourceVersion", json!("9")), None),
        (
            changed("/metadata/labels", json!({"a": "3"})),
            Some(json!({"metadata": {"labels": {"a": "3", "b": null}}})),
        ),
        (
            changed("/status/capacity", json!({"cpu": "4"})),
            Some(json!({"status": {"capacity": {"cpu": "4", "hugepages-2Mi": null}}})),
        ),
        (
            changed("/status/addresses", json!([{"type": "Hostname", "address": "n"}])),
            Some(
                json!({"status": {"addresses": [{"type": "Hostname", "address": "n"}, {"$patch": "replace"}]}}),
            ),
        ),
        (
            changed(&format!("{ready}/status"), json!("False")),
            Some(json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})),
        ),
        (
            changed(&format!("{ready}/lastHeartbeatTime"), json!("2030-01-01T00:05:00Z")),
            Some(
                json!({"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2030-01-01T00:05:00Z"}]}}),
            ),
        ),
        (
            changed("/status/images", json!([{"names": ["x"], "sizeBytes": 1}])),
            Some(json!({"status": {"images": [{"names": ["x"], "sizeBytes": 1}]}})),
        ),
    ];
    for (to, expected) in cases {
        assert_eq!(patch(&existing(), &to), expected);
        let beats = expected.as_ref().is_some_and(|patch| patch.to_string().contains("lastHeartbeatTime"));
        assert_eq!(has_changed(&existing(), &to), expected.is_some() && !beats, "{expected:?}");
    }
}

#[test]
fn conditions_of_others_and_their_order_are_no_ones_change() {
    let turned = changed(
        "/status/conditions",
        json!([
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:00Z", "reason": "KubeletReady"},
            {"type": "NetworkUnavailable", "status": "False"},
        ]),
    );
    assert_eq!(patch(&existing(), &turned), None);
    let alone = changed("/status/conditions", json!([{"type": "MemoryPressure", "status": "False"}]));
    assert_eq!(
        patch(&existing(), &alone),
        Some(json!({"status": {"conditions": [{"type": "MemoryPressure", "status": "False"}]}}))
    );
}

#[test]
fn a_report_comes_on_a_change_and_else_every_five_minutes() {
    let at = |second| Timestamp::from_second(second).expect("a small number of seconds is a timestamp");
    let mut schedule = ReportSchedule::new(STATUS_REPORT_FREQUENCY);
    assert!(schedule.is_due(false, at(0)), "the first one");
    schedule.sent(false, at(0), 0.9);
    assert!(
        !schedule.is_due(false, at(299)) && schedule.is_due(false, at(300)) && schedule.is_due(true, at(1))
    );
    for (chance, due) in [(0.0, 150), (0.5, 300), (0.99, 447)] {
        schedule.sent(true, at(0), chance);
        assert!(!schedule.is_due(false, at(due - 1)) && schedule.is_due(false, at(due)), "{chance}");
    }
    schedule.sent(false, at(1000), 0.0);
    assert!(schedule.is_due(false, at(999)), "the clock was set back");
}

//! Rows of the node, from what the local API answers.

use serde_json::json;

use super::*;

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

#[test]
fn a_resource_says_who_it_is_for_and_how_much_is_used() {
    let row = |resource: &str, amounts: [Option<&str>; 7]| {
        let [capacity, system, kube, eviction, allocatable, requested, used] = amounts;
        let row = json!({
            "resource": resource, "capacity": capacity, "systemReserved": system, "kubeReserved": kube,
            "evictionHard": eviction, "allocatable": allocatable, "requested": requested, "used": used,
        });
        resource_row(&row)[1..].join("|")
    };
    let cpu = [Some("4"), Some("500m"), Some("0"), Some("0"), Some("3500m"), Some("1250m"), Some("730m")];
    assert_eq!(row("cpu", cpu), "4|500m|||3500m|1250m|730m");
    let (gib, mib) = ("1073741824", "104857600");
    let memory = [Some("8589934592"), Some("0"), Some(gib), Some(mib), Some("7Gi"), Some("0"), None];
    assert_eq!(row("memory", memory), "8.0 GiB||1.0 GiB|100.0 MiB|7.0 GiB|0 B|");
    let pods = [Some("110"), Some("0"), Some("0"), Some("0"), Some("110"), Some("3"), None];
    assert_eq!(row("pods", pods), "110||||110|3|");
}

//! Patches by table.

use serde_json::{Value, json};

use super::{PatchType, apply};

#[track_caller]
fn strategic(original: Value, patch: Value, expected: Value) {
    assert_eq!(apply(PatchType::Strategic, &original, patch).expect("a patch that can be read"), expected);
}

#[test]
fn conditions_are_merged_by_type_and_new_ones_follow() {
    strategic(
        json!({ "status": { "conditions": [{ "type": "Ready", "status": "False", "reason": "x" }, { "type": "Gate", "status": "True" }] } }),
        json!({ "status": { "conditions": [{ "type": "Initialized", "status": "True" }, { "type": "Ready", "status": "True", "reason": null }] } }),
        json!({ "status": { "conditions": [
            { "type": "Ready", "status": "True" }, { "type": "Gate", "status": "True" }, { "type": "Initialized", "status": "True" },
        ] } }),
    );
}

#[test]
fn an_item_is_deleted_by_its_key_and_ordered_as_the_patch_says() {
    strategic(
        json!({ "status": { "podIPs": [{ "ip": "10.0.0.1" }, { "ip": "10.0.0.2" }] } }),
        json!({ "status": { "podIPs": [{ "$patch": "delete", "ip": "10.0.0.1" }, { "ip": "10.0.0.3" }],
            "$setElementOrder/podIPs": [{ "ip": "10.0.0.3" }, { "ip": "10.0.0.2" }] } }),
        json!({ "status": { "podIPs": [{ "ip": "10.0.0.3" }, { "ip": "10.0.0.2" }] } }),
    );
}

#[test]
fn atomic_lists_are_replaced_whole() {
    strategic(
        json!({ "status": { "containerStatuses": [{ "name": "a", "ready": true }, { "name": "b" }] } }),
        json!({ "status": { "containerStatuses": [{ "name": "a" }] } }),
        json!({ "status": { "containerStatuses": [{ "name": "a" }] } }),
    );
}

#[test]
fn directives_replace_delete_and_retain() {
    strategic(
        json!({ "a": { "x": 1, "y": 2 }, "b": { "x": 1 }, "spec": { "volumes": [{ "name": "v", "emptyDir": {} }] } }),
        json!({ "a": { "$patch": "replace", "z": 3 }, "b": { "$patch": "delete" },
            "spec": { "volumes": [{ "name": "v", "$retainKeys": ["name", "secret"], "secret": { "secretName": "s" } }] } }),
        json!({ "a": { "z": 3 }, "b": {}, "spec": { "volumes": [{ "name": "v", "secret": { "secretName": "s" } }] } }),
    );
    strategic(
        json!({ "metadata": { "finalizers": ["a", "b"] } }),
        json!({ "metadata": { "finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] } }),
        json!({ "metadata": { "finalizers": ["b", "c"] } }),
    );
    strategic(
        json!({ "status": { "addresses": [{ "type": "Hostname", "address": "h" }, { "type": "InternalIP", "address": "i" }] } }),
        json!({ "status": { "addresses": [{ "$patch": "replace" }, { "type": "InternalIP", "address": "j" }] } }),
        json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "j" }] } }),
    );
}

#[test]
fn nulls_delete_what_is_there_and_vanish_where_nothing_is() {
    strategic(
        json!({ "status": { "podIP": "10.0.0.1" } }),
        json!({ "status": { "podIP": null, "podIPs": null, "new": { "kept": 1, "gone": null } } }),
        json!({ "status": { "new": { "kept": 1 } } }),
    );
}

#[test]
fn an_item_without_its_key_is_an_error() {
    let original = json!({ "status": { "conditions": [] } });
    let patch = json!({ "status": { "conditions": [{ "status": "True" }] } });
    assert_eq!(apply(PatchType::Strategic, &original, patch.clone()).expect_err("no merge key").code, 500);
    // Where nothing is merged, keys aren't required.
    strategic(json!({}), patch.clone(), patch);
}

#[test]
fn merge_and_json_patches_follow_their_rfcs() {
    let original = json!({ "a": [1, 2], "b": { "c": 1, "d": 2 } });
    let merged =
        apply(PatchType::Merge, &original, json!({ "a": [3], "b": { "c": null } })).expect("a patch");
    assert_eq!(merged, json!({ "a": [3], "b": { "d": 2 } }));
    let steps = json!([
        { "op": "test", "path": "/b/c", "value": 1 },
        { "op": "add", "path": "/a/-", "value": 3 },
        { "op": "remove", "path": "/a/0" },
        { "op": "replace", "path": "/b/d", "value": 5 },
        { "op": "move", "from": "/b/c", "path": "/e" },
        { "op": "add", "path": "/b/x~1y", "value": true },
    ]);
    let patched = apply(PatchType::Json, &original, steps).expect("a patch");
    assert_eq!(patched, json!({ "a": [2, 3], "b": { "d": 5, "x/y": true }, "e": 1 }));
    let failing = json!([{ "op": "test", "path": "/b/c", "value": 2 }]);
    assert_eq!(apply(PatchType::Json, &original, failing).expect_err("a failed test").code, 422);
}

#[test]
fn what_only_the_server_has_keeps_its_place_in_the_order() {
    let ips = |ips: &[&str]| ips.iter().map(|ip| json!({ "ip": ip })).collect::<Vec<_>>();
    // Had, ordered, patched, and what comes of it.
    let cases: &[[&[&str]; 4]] = &[
        [&["a", "b", "c"], &["c", "a"], &[], &["b", "c", "a"]],
        [&["a", "b", "c"], &["a", "c"], &[], &["a", "b", "c"]],
        [&["a", "b"], &["new", "b"], &["new"], &["new", "a", "b"]],
        [&["a", "b"], &["b", "new"], &["new"], &["a", "b", "new"]],
        [&["b", "a"], &["a", "new", "gone"], &["new"], &["b", "a", "new"]],
        [&[], &["b", "a"], &["b", "a"], &["b", "a"]],
        [&["a", "b"], &[], &["c"], &["a", "b", "c"]],
    ];
    for [had, order, patched, expected] in cases {
        let mut patch = json!({ "$setElementOrder/podIPs": ips(order), "podIPs": ips(patched) });
        if patched.is_empty() {
            patch.as_object_mut().expect("an object").remove("podIPs");
        }
        strategic(json!({ "podIPs": ips(had) }), patch, json!({ "podIPs": ips(expected) }));
    }
}

#[test]
fn a_list_that_contradicts_its_order_is_refused() {
    let of = |names: &[&str]| names.iter().map(|name| json!({ "type": name })).collect::<Vec<_>>();
    let cases: &[(&[&str], &[&str], Option<u16>)] = &[
        (&["a", "b"], &["b"], None),
        (&["a", "b"], &["b", "a"], Some(500)),
        (&["a", "b"], &["c"], Some(500)),
        (&["a"], &["a", "a"], Some(500)),
        (&[], &["b", "a"], None),
    ];
    for (order, patched, code) in cases {
        let patch =
            json!({ "status": { "$setElementOrder/conditions": of(order), "conditions": of(patched) } });
        let refused =
            apply(PatchType::Strategic, &json!({ "status": {} }), patch).err().map(|error| error.code);
        assert_eq!(refused, *code, "{order:?} {patched:?}");
    }
    for patch in [
        json!({ "$setElementOrder/conditions": {}, "conditions": [] }),
        json!({ "$setElementOrder/conditions": [{ "status": "x" }], "conditions": of(&["a"]) }),
        json!({ "metadata": { "$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b", "a"] } }),
    ] {
        let refused = apply(PatchType::Strategic, &json!({}), patch.clone()).map_err(|error| error.code);
        assert_eq!(refused, Err(500), "{patch}");
    }
}

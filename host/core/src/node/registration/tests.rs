//! The object as it is registered, and what becomes of one that was there.

use jiff::Timestamp;
use serde_json::json;

use super::super::conditions::Pressures;
use super::super::plugin_set::SetReport;
use super::super::update;
use super::*;

fn node(value: serde_json::Value) -> Node {
    serde_json::from_value(value).expect("a node")
}

fn machine() -> Node {
    node(json!({
        "metadata": {"name": "n", "creationTimestamp": "2030-01-01T00:00:00Z", "labels": {
            "kubernetes.io/hostname": "n", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "mine": "1",
        }},
        "status": {"capacity": {"cpu": "2", "hugepages-2Mi": "4Mi"}, "allocatable": {"cpu": "2", "hugepages-2Mi": "4Mi"}},
    }))
}

fn seen(machine: &Node) -> NodeSnapshot<'_> {
    NodeSnapshot {
        machine,
        ready: None,
        source: None,
        plugins: None,
        set: SetReport::default(),
        agent: None,
        pressures: Pressures::default(),
        images: None,
        port: None,
        external_addresses: false,
        now: Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn a_new_node_has_upstreams_labels_annotations_and_taints() {
    let (made, news) = initial(&seen(&machine()), &Registration::default());
    let made = serde_json::to_value(made).expect("JSON");
    assert_eq!(
        made["metadata"],
        json!({
            "name": "n",
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "labels": {
                "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "n", "kubernetes.io/os": "linux", "mine": "1",
            },
        })
    );
    assert_eq!(made["spec"], json!({}));
    assert_eq!(news.len(), 3);
    let options = Registration {
        taints: vec![Taint { key: "own".into(), effect: "NoExecute".into(), ..Taint::default() }],
        unschedulable: true,
        provider_id: Some("cloud://1".into()),
        external_cloud: true,
        node_ips: vec!["192.0.2.1".into(), "2001:db8::1".into()],
    };
    let made = serde_json::to_value(initial(&seen(&machine()), &options).0).expect("JSON");
    assert_eq!(
        made["spec"],
        json!({
            "providerID": "cloud://1",
            "unschedulable": true,
            "taints": [
                {"key": "own", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
            ],
        })
    );
    assert_eq!(made["metadata"]["annotations"][PROVIDED_NODE_IP], "192.0.2.1,2001:db8::1");
}

#[test]
fn a_taint_that_the_operator_gave_isnt_doubled() {
    let given = Taint { key: UNSCHEDULABLE.into(), effect: NO_SCHEDULE.into(), ..Taint::default() };
    let options = Registration { taints: vec![given], unschedulable: true, ..Registration::default() };
    let (made, _) = initial(&seen(&machine()), &options);
    assert_eq!(made.spec.and_then(|spec| spec.taints).map(|taints| taints.len()), Some(1));
}

/// (an existing node, what is patched)
type Case = (serde_json::Value, Option<serde_json::Value>);

#[test]
fn a_node_that_was_there_gets_what_is_the_agents_and_keeps_the_rest() {
    let whole = json!({
        "metadata": {
            "name": "n",
            "uid": "u",
            "annotations": {CONTROLLER_MANAGED_ATTACH: "true", "others": "x"},
            "labels": {
                "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "n", "kubernetes.io/os": "linux", "others": "y", "mine": "edited",
            },
        },
        "spec": {"unschedulable": true},
        "status": {"capacity": {"cpu": "8", "hugepages-2Mi": "4096Ki"}, "allocatable": {"cpu": "8", "hugepages-2Mi": "4Mi"}},
    });
    let with = |pointer: &str, value: serde_json::Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).expect("the case names a place") = value;
        changed
    };
    let cases: [Case; 6] = [
        (whole.clone(), None),
        (
            with("/metadata/annotations", json!({})),
            Some(json!({"metadata": {"annotations": {CONTROLLER_MANAGED_ATTACH: "true"}}})),
        ),
        (
            with("/metadata/labels/kubernetes.io~1hostname", json!("old")),
            Some(json!({"metadata": {"labels": {"kubernetes.io/hostname": "n"}}})),
        ),
        (
            with("/status/capacity", json!({"cpu": "8", "hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi"})),
            Some(json!({"status": {"capacity": {"hugepages-1Gi": null}}})),
        ),
        (
            with("/status/capacity", json!({"cpu": "8", "hugepages-2Mi": "8Mi"})),
            Some(json!({"status": {"capacity": {"hugepages-2Mi": "4Mi"}}})),
        ),
        (
            with("/status/capacity", json!({"cpu": "8", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"})),
            Some(json!({"status": {
                "capacity": {"example.com/gpu": "0"},
                "allocatable": {"example.com/gpu": "0"},
            }})),
        ),
    ];
    let (first, _) = initial(&seen(&machine()), &Registration::default());
    for (existing, expected) in cases {
        let existing = node(existing);
        let after = reconciled(&existing, &first);
        assert_eq!(update::patch(&existing, &after), expected);
        assert_eq!((&after.spec, &after.metadata.uid), (&existing.spec, &existing.metadata.uid));
    }
}

#[test]
fn a_status_update_puts_the_system_and_architecture_right_but_no_other_label() {
    let existing = node(json!({"metadata": {"name": "n", "labels": {"kubernetes.io/os": "x", "mine": "2"},
        "annotations": {PROVIDED_NODE_IP: "192.0.2.9", "others": "z"}}}));
    let (after, _) = current(&existing, &seen(&machine()), &Registration::default());
    assert_eq!(
        serde_json::to_value(after.metadata).expect("JSON"),
        json!({
            "name": "n",
            "labels": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "mine": "2"},
            "annotations": {"others": "z"},
        })
    );
}

#[test]
fn extended_resources_are_those_of_others_domains() {
    let cases = [
        ("cpu", false),
        ("hugepages-2Mi", false),
        ("kubernetes.io/x", false),
        ("a.kubernetes.io/x", false),
        ("example.com/gpu", true),
        ("requests.example.com/gpu", false),
    ];
    for (name, expected) in cases {
        assert_eq!(is_extended(name), expected, "{name}");
    }
}

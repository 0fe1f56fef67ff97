//! Validation: each rule by its field.

use serde_json::{Value, json};

use super::*;
use crate::pod::defaults;

/// Problems of a good pod after a change to its JSON.
fn problems(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "0123-ab"},
        "spec": {"containers": [{"name": "a", "image": "b:1"}]},
    });
    change(&mut value);
    let mut pod: Pod = serde_json::from_value(value).expect("a pod");
    defaults::apply(&mut pod);
    validate(&pod).iter().map(ToString::to_string).collect()
}

/// The fields that are named after `value` was put at `pointer`.
#[track_caller]
fn check(pointer: &str, value: Value, expected: &[&str]) {
    let found = problems(|pod| {
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        let parent = pod.pointer_mut(parent).expect("the parent exists");
        if let Ok(index) = field.parse::<usize>() {
            parent[index] = value.clone();
        } else {
            parent[field] = value.clone();
        }
    });
    let fields: Vec<_> =
        found.iter().filter_map(|line| line.split_once(": ")).map(|(path, _)| path).collect();
    assert_eq!(fields, expected, "{pointer} = {value}: {found:#?}");
}

#[test]
fn a_good_pod_has_no_problems() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

#[test]
fn metadata_is_checked() {
    let long_label = "a".repeat(64);
    for name in ["", "Web", "-web", "web-", "a_b", "a..b", &"a".repeat(254), "ü", "a/../b"] {
        check("/metadata/name", json!(name), &["metadata.name"]);
    }
    for name in ["web.v1", "0", &"a".repeat(253)] {
        check("/metadata/name", json!(name), &[]);
    }
    for namespace in ["a.b", "A", "", "../x", long_label.as_str()] {
        check("/metadata/namespace", json!(namespace), &["metadata.namespace"]);
    }
    for uid in ["", "a/b", "..", "a b", &"a".repeat(65)] {
        check("/metadata/uid", json!(uid), &["metadata.uid"]);
    }
    for labels in [
        json!({"": "x"}),
        json!({"a/b/c": "x"}),
        json!({"A.b/": "x"}),
        json!({"a": "b c"}),
        json!({"a": "-"}),
        json!({"a": long_label}),
        json!({"_": "x"}),
    ] {
        check("/metadata/labels", labels, &["metadata.labels"]);
    }
    check("/metadata/labels", json!({"app.kubernetes.io/name": "a_b.C-1", "x": ""}), &[]);
    check("/metadata/annotations", json!({"a b": "anything"}), &["metadata.annotations"]);
    check(
        "/metadata/annotations",
        json!({"a": "x".repeat(ANNOTATIONS_BYTES_MAX)}),
        &["metadata.annotations"],
    );
    check("/metadata/annotations", json!({"a": "x".repeat(ANNOTATIONS_BYTES_MAX - 1)}), &[]);
}

#[test]
fn too_many_labels_are_counted_not_listed() {
    let labels: BTreeMap<_, _> =
        (0..=LABELS_MAX).map(|number| (format!("l{number}"), "not valid!")).collect();
    assert_eq!(
        problems(|pod| pod["metadata"]["labels"] = json!(labels)),
        ["metadata.labels: there are 1001 labels, at most 1000 are allowed"]
    );
}

#[test]
fn a_pod_larger_than_any_store_takes_is_refused() {
    let found = problems(|pod| pod["spec"]["containers"][0]["args"] = json!(["x".repeat(POD_BYTES_MAX)]));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("metadata: the pod has 157"), "{found:?}");
}

#[test]
fn the_spec_is_checked() {
    check("/spec/containers", json!([]), &["spec.containers"]);
    check("/spec/restartPolicy", json!("always"), &["spec.restartPolicy"]);
    check("/spec/dnsPolicy", json!("x"), &["spec.dnsPolicy"]);
    check("/spec/terminationGracePeriodSeconds", json!(-1), &["spec.terminationGracePeriodSeconds"]);
    check("/spec/terminationGracePeriodSeconds", json!(0), &[]);
    check("/spec/activeDeadlineSeconds", json!(0), &["spec.activeDeadlineSeconds"]);
    check("/spec/hostname", json!("a.b"), &["spec.hostname"]);
    check("/spec/nodeSelector", json!({"a": "b c"}), &["spec.nodeSelector"]);
    check("/spec/securityContext", json!({"runAsUser": -1}), &["spec.securityContext.runAsUser"]);
    check("/spec/overhead", json!({"cpu": "x"}), &["spec.overhead.cpu"]);
    check("/spec/tolerations", json!([{"operator": "Exists"}, {"key": "a", "value": "b"}]), &[]);
    check(
        "/spec/tolerations",
        json!([{}, {"operator": "Exists", "key": "a", "value": "b"}, {"key": "a", "effect": "x"}, {"key": "a", "tolerationSeconds": 1}]),
        &[
            "spec.tolerations[0].operator",
            "spec.tolerations[1].value",
            "spec.tolerations[2].effect",
            "spec.tolerations[3].effect",
        ],
    );
}

#[test]
fn containers_are_checked() {
    let at = "/spec/containers/0";
    check(&format!("{at}/name"), json!(""), &["spec.containers[0].name"]);
    check(&format!("{at}/name"), json!("A"), &["spec.containers[0].name"]);
    check(&format!("{at}/image"), json!(""), &["spec.containers[0].image"]);
    check(&format!("{at}/image"), json!(" b"), &["spec.containers[0].image"]);
    check(&format!("{at}/imagePullPolicy"), json!("x"), &["spec.containers[0].imagePullPolicy"]);
    check(
        &format!("{at}/terminationMessagePolicy"),
        json!("x"),
        &["spec.containers[0].terminationMessagePolicy"],
    );
    check(
        &format!("{at}/securityContext"),
        json!({"privileged": true, "allowPrivilegeEscalation": false, "runAsGroup": 2_147_483_648_i64}),
        &[
            "spec.containers[0].securityContext.runAsGroup",
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
        ],
    );
    check(
        &format!("{at}/env"),
        json!([
            {"name": "a=b"}, {"name": ""}, {"name": "A.b-c 1", "value": "x"}, {"name": "a", "value": "\u{0}"},
            {"name": "a", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "a", "valueFrom": {}}, {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": ""}}},
        ]),
        &[
            "spec.containers[0].env[0].name",
            "spec.containers[0].env[1].name",
            "spec.containers[0].env[3].value",
            "spec.containers[0].env[4].valueFrom",
            "spec.containers[0].env[5].valueFrom",
            "spec.containers[0].env[6].valueFrom.fieldRef.fieldPath",
        ],
    );
    let twice = json!([{"name": "a", "image": "b"}, {"name": "a", "image": "b"}]);
    check("/spec/containers", twice, &["spec.containers[1].name"]);
}

#[test]
fn fields_for_variables_are_those_that_upstream_offers() {
    for (path, good) in [
        ("metadata.name", true),
        ("status.podIPs", true),
        ("metadata.labels['app.kubernetes.io/name']", true),
        ("metadata.annotations['a']", true),
        ("metadata.labels['a b']", false),
        ("metadata.labels", false),
        ("metadata.labels[a]", false),
        ("spec.containers[0].image", false),
        ("status.phase", false),
    ] {
        let variable = json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
        let expected: &[&str] =
            if good { &[] } else { &["spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"] };
        check("/spec/containers/0/env", variable, expected);
    }
}

#[test]
fn ports_are_checked() {
    let at = "/spec/containers/0/ports";
    let port = |number: usize, field: &str| format!("spec.containers[0].ports[{number}].{field}");
    check(at, json!([{"containerPort": 1, "name": "http"}, {"containerPort": 65535, "name": "a-1"}]), &[]);
    check(
        at,
        json!([{"containerPort": 0}, {"containerPort": 65536}]),
        &[&port(0, "containerPort"), &port(1, "containerPort")],
    );
    check(at, json!([{"containerPort": 1, "hostPort": -1}]), &[&port(0, "hostPort")]);
    check(at, json!([{"containerPort": 1, "protocol": "tcp"}]), &[&port(0, "protocol")]);
    check(at, json!([{"containerPort": 1, "hostIP": "localhost"}]), &[&port(0, "hostIP")]);
    for name in ["HTTP", "1", "a--b", "-a", "sixteen-letters-"] {
        check(at, json!([{"containerPort": 1, "name": name}]), &[&port(0, "name")]);
    }
    check(
        at,
        json!([{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
        &[&port(1, "name")],
    );
    check(
        at,
        json!([
            {"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80},
            {"containerPort": 2, "hostPort": 80, "protocol": "UDP"}, {"containerPort": 2, "hostPort": 80, "hostIP": "::1"},
        ]),
        &[&port(1, "hostPort")],
    );
    let found = problems(|pod| {
        pod["spec"]["hostNetwork"] = json!(true);
        pod["spec"]["containers"][0]["ports"] =
            json!([{"containerPort": 1}, {"containerPort": 2, "hostPort": 3}]);
    });
    assert_eq!(
        found,
        ["spec.containers[0].ports[1].hostPort: must be the containerPort on the host network"]
    );
}

#[test]
fn resources_are_checked() {
    let at = "/spec/containers/0/resources";
    let field = |name: &str| format!("spec.containers[0].resources.{name}");
    check(
        at,
        json!({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}),
        &[],
    );
    check(at, json!({"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}}), &[&field("requests.cpu")]);
    check(at, json!({"limits": {"cpu": "-1"}}), &[&field("limits.cpu")]);
    check(at, json!({"requests": {"memory": "64MB"}}), &[&field("requests.memory")]);
    check(at, json!({"requests": {"gpu": "1"}, "limits": {"gpu": "1"}}), &[&field("limits.gpu")]);
    check(at, json!({"requests": {"a.b/gpu": "1"}}), &[&field("requests.a.b/gpu")]);
    check(
        at,
        json!({"requests": {"a.b/gpu": "1"}, "limits": {"a.b/gpu": "2"}}),
        &[&field("requests.a.b/gpu")],
    );
    check(at, json!({"limits": {"a.b/gpu": "1500m"}}), &[&field("limits.a.b/gpu")]);
    check(at, json!({"limits": {"hugepages-2Mi": "4Mi"}}), &[]);
}

#[test]
fn problems_beyond_the_bound_are_counted_and_long_texts_are_cut() {
    let found = problems(|pod| {
        pod["spec"]["containers"] =
            (0..60).map(|_| json!({"name": "X".repeat(1000), "image": "b"})).collect();
    });
    assert_eq!(found.len(), PROBLEMS_MAX + 1);
    assert_eq!(found[PROBLEMS_MAX], "metadata: and 10 more problems");
    assert!(found.iter().all(|line| line.len() < 300), "{}", found[0]);
}

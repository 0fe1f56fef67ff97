//! Defaults: what is filled in, and that nothing else is touched.

use serde_json::{Value, json};

use super::*;

fn defaulted(spec: Value) -> Value {
    let mut pod: Pod = serde_json::from_value(json!({"spec": spec})).expect("a pod");
    apply(&mut pod);
    let once = pod.clone();
    apply(&mut pod);
    assert_eq!(pod, once, "applying twice is applying once");
    serde_json::to_value(pod).expect("JSON")["spec"].take()
}

#[test]
fn a_minimal_pod_becomes_whole() {
    let spec =
        defaulted(json!({"containers": [{"name": "a", "image": "b:1", "ports": [{"containerPort": 80}]}]}));
    assert_eq!(
        spec,
        json!({
            "containers": [{
                "name": "a",
                "image": "b:1",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": true,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        })
    );
}

#[test]
fn what_is_stated_stays() {
    let spec = json!({
        "containers": [{
            "name": "a",
            "image": "b",
            "imagePullPolicy": "Never",
            "ports": [{"containerPort": 80, "hostPort": 81, "protocol": "UDP"}],
            "terminationMessagePath": "/x",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        }],
        "dnsPolicy": "Default",
        "enableServiceLinks": false,
        "restartPolicy": "Never",
        "schedulerName": "mine",
        "securityContext": {"runAsUser": 1},
        "terminationGracePeriodSeconds": 0,
    });
    assert_eq!(defaulted(spec.clone()), spec);
}

#[test]
fn pull_policy_follows_the_tag() {
    for (image, expected) in [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("localhost:5000/busybox", "Always"),
        ("localhost:5000/busybox:1", "IfNotPresent"),
        ("busybox@sha256:00", "IfNotPresent"),
        ("busybox:latest@sha256:00", "IfNotPresent"),
        ("file:/srv/hello.wasm", "IfNotPresent"),
        ("", "IfNotPresent"),
    ] {
        let spec = defaulted(json!({"containers": [{"name": "a", "image": image}]}));
        assert_eq!(spec["containers"][0]["imagePullPolicy"], expected, "{image}");
    }
}

#[test]
fn limits_become_requests_where_there_are_none() {
    let spec = defaulted(json!({"containers": [
        {"name": "a", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}
    ]}));
    assert_eq!(spec["containers"][0]["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
}

#[test]
fn container_ports_are_host_ports_on_the_host_network() {
    let spec = defaulted(
        json!({"hostNetwork": true, "containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}),
    );
    assert_eq!(spec["containers"][0]["ports"][0]["hostPort"], 80);
}

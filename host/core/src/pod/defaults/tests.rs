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
        // As upstream's `ParseImageName` has it: the tag still counts.
        ("busybox:latest@sha256:00", "Always"),
        ("busybox:1.36@sha256:00", "IfNotPresent"),
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

#[test]
fn probes_and_hooks_are_filled_in() {
    let spec = defaulted(json!({"containers": [{
        "name": "a", "image": "b:1",
        "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 0},
        "readinessProbe": {"grpc": {"port": 1}, "timeoutSeconds": 7, "periodSeconds": 8, "successThreshold": 9, "failureThreshold": 10},
        "startupProbe": {"exec": {"command": ["x"]}},
        "lifecycle": {"preStop": {"httpGet": {"port": "http", "path": "/x", "scheme": "HTTPS"}}, "postStart": {"httpGet": {"port": 1}}},
    }]}));
    let container = &spec["containers"][0];
    let times = |timeout, period, success, failure| json!({"timeoutSeconds": timeout, "periodSeconds": period, "successThreshold": success, "failureThreshold": failure});
    let with = |mut base: Value, key: &str, value: Value| {
        base[key] = value;
        base
    };
    let get = json!({"port": 80, "path": "/", "scheme": "HTTP"});
    assert_eq!(container["livenessProbe"], with(times(1, 10, 1, 3), "httpGet", get));
    let grpc = json!({"port": 1, "service": ""});
    assert_eq!(container["readinessProbe"], with(times(7, 8, 9, 10), "grpc", grpc));
    assert_eq!(container["startupProbe"], with(times(1, 10, 1, 3), "exec", json!({"command": ["x"]})));
    assert_eq!(
        container["lifecycle"],
        json!({
            "preStop": {"httpGet": {"port": "http", "path": "/x", "scheme": "HTTPS"}},
            "postStart": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}},
        })
    );
}

#[test]
fn volumes_are_filled_in() {
    let item = json!({"path": "p", "fieldRef": {"fieldPath": "metadata.name"}});
    let whole = json!({"path": "p", "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}});
    let spec = defaulted(json!({"containers": [], "volumes": [
        {"name": "bare"},
        {"name": "host", "hostPath": {"path": "/x"}},
        {"name": "files", "downwardAPI": {"items": [item]}},
        {"name": "own-mode", "downwardAPI": {"defaultMode": 256}},
        {"name": "projected", "projected": {"sources": [{"downwardAPI": {"items": [item]}}]}},
        {"name": "map", "configMap": {"name": "m"}},
        {"name": "secret", "secret": {"secretName": "s"}},
    ]}));
    assert_eq!(
        spec["volumes"],
        json!([
            {"name": "bare", "emptyDir": {}},
            {"name": "host", "hostPath": {"path": "/x", "type": ""}},
            {"name": "files", "downwardAPI": {"items": [whole], "defaultMode": 420}},
            {"name": "own-mode", "downwardAPI": {"defaultMode": 256}},
            {"name": "projected", "projected": {"defaultMode": 420, "sources": [{"downwardAPI": {"items": [whole]}}]}},
            {"name": "map", "configMap": {"name": "m", "defaultMode": 420}},
            {"name": "secret", "secret": {"secretName": "s", "defaultMode": 420}},
        ])
    );
}

#[test]
fn init_and_ephemeral_containers_are_filled_in() {
    let spec = defaulted(json!({
        "containers": [],
        "initContainers": [{"name": "i", "image": "b", "securityContext": {}}],
        "ephemeralContainers": [{
            "name": "e", "image": "b:1", "securityContext": {"runAsUser": 1}, "targetContainerName": "a",
            "env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        }],
    }));
    let messages = |pull: &str| json!({"imagePullPolicy": pull, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"});
    let merged = |mut base: Value, more: Value| {
        if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
            base.extend(more);
        }
        base
    };
    let init = json!({"name": "i", "image": "b", "securityContext": {"procMount": "Default"}});
    assert_eq!(spec["initContainers"][0], merged(messages("Always"), init));
    let ephemeral = json!({
        "name": "e", "image": "b:1", "securityContext": {"runAsUser": 1, "procMount": "Default"}, "targetContainerName": "a",
        "env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}}],
    });
    assert_eq!(spec["ephemeralContainers"][0], merged(messages("IfNotPresent"), ephemeral));
}

#[test]
fn a_pods_own_requests_follow_its_containers_or_its_limits() {
    let of = |own: Value, container: Value| {
        let containers =
            json!([{"name": "a", "resources": container}, {"name": "b", "resources": container}]);
        defaulted(json!({"containers": containers, "resources": own}))["resources"].take()
    };
    let limits = json!({"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"});
    let with = |requests: Value| json!({"limits": limits, "requests": requests});
    let own = json!({"limits": limits});
    assert_eq!(of(own.clone(), json!({})), with(limits.clone()));
    let half = json!({"requests": {"cpu": "250m", "memory": "1Mi", "hugepages-2Mi": "2Mi"}});
    let expected = json!({"cpu": "500m", "memory": "2097152", "hugepages-2Mi": "4Mi"});
    assert_eq!(of(own, half), with(expected));
    let stated = with(json!({"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"}));
    assert_eq!(of(stated.clone(), json!({})), stated);
    let requests_only = json!({"requests": {"cpu": "1"}});
    assert_eq!(of(requests_only.clone(), json!({})), requests_only);
}

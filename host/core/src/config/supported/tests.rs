//! The table of supported fields: what it lets through and what it names.

use serde_json::json;

use super::*;

fn refused(pod: &Value) -> Vec<String> {
    let mut problems = Problems::default();
    check(pod, "", &mut problems);
    problems.finish("").iter().map(ToString::to_string).collect()
}

#[test]
fn no_row_is_written_twice_or_hidden_by_another() {
    for (index, (pattern, _)) in RULES.iter().enumerate() {
        for (other, rule) in &RULES[index + 1..] {
            assert_ne!(pattern, other);
            let below = other.strip_prefix(pattern).is_some_and(|rest| rest.starts_with(['.', '[']));
            assert!(!below || matches!(rule, Refuse(_)), "{other} can't be reached below {pattern}");
        }
    }
}

#[test]
fn a_pod_that_uses_what_is_supported_passes() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "labels": {"anything": "goes"}, "annotations": {"a/b": "c"}},
        "spec": {
            "hostNetwork": true, "hostUsers": true, "os": {"name": "linux"},
            "volumes": [], "initContainers": null, "subdomain": "",
            "affinity": {"nodeAffinity": {"deep": {"down": 1}}},
            "securityContext": {"runAsUser": 1, "fsGroup": 2},
            "containers": [{
                "name": "a", "image": "b", "ports": [{"containerPort": 80, "name": "http"}],
                "env": [{"name": "X", "value": "y"}, {"name": "Z", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"example.com/gpu": "1"}, "limits": {"memory": "1"}},
                "terminationMessagePath": "/dev/termination-log",
                "volumeMounts": [],
            }],
        },
        "status": {"phase": "Running"},
    });
    assert_eq!(refused(&pod), Vec::<String>::new());
}

#[test]
fn each_field_that_nobody_acts_on_is_named() {
    let pod = json!({
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "generateName": "x"},
        "spec": {
            "activeDeadlineSeconds": 5, "hostUsers": false, "serviceAccountName": "x", "os": {"name": "windows"},
            "initContainers": [{"name": "i"}], "volumes": [{"name": "v"}],
            "securityContext": {"sysctls": [{"name": "a", "value": "b"}]},
            "containers": [
                {"name": "a"},
                {
                    "name": "b", "livenessProbe": {"exec": {}}, "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                    "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    "resources": {"limits": {"ephemeral-storage": "1Gi"}, "claims": [{"name": "c"}]},
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                },
            ],
        },
    });
    let unsupported = "not supported by this release";
    let mut expected = [
        format!("metadata.deletionTimestamp: {FROM_SERVER}"),
        "metadata.generateName: a pod from a manifest needs a name of its own".to_owned(),
        format!("spec.activeDeadlineSeconds: {unsupported}"),
        format!("spec.containers[1].env[0].valueFrom.secretKeyRef: {API_OBJECTS}"),
        format!("spec.containers[1].lifecycle: {unsupported}"),
        format!("spec.containers[1].livenessProbe: {unsupported}"),
        format!("spec.containers[1].resources.claims: {unsupported}"),
        format!("spec.containers[1].resources.limits.ephemeral-storage: {NO_SUCH_LIMIT}"),
        "spec.containers[1].terminationMessagePolicy: only File is supported by this release".to_owned(),
        "spec.hostUsers: only true is supported by this release".to_owned(),
        format!("spec.initContainers: {unsupported}"),
        "spec.os.name: only linux is supported by this release".to_owned(),
        format!("spec.securityContext.sysctls: {unsupported}"),
        format!("spec.serviceAccountName: {API_OBJECTS}"),
        format!("spec.volumes: {unsupported}"),
    ];
    expected.sort();
    let mut found = refused(&pod);
    found.sort();
    assert_eq!(found, expected);
}

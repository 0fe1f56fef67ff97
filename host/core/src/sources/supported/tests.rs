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
            "hostNetwork": true, "hostUsers": true, "os": {"name": "windows"},
            "volumes": [
                {"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
                {"name": "h", "hostPath": {"path": "/x"}}, {"name": "d", "downwardAPI": {"items": [{"path": "x"}]}},
                {"name": "p", "projected": {"defaultMode": 1, "sources": [{"downwardAPI": {"items": []}}, {"downwardAPI": {"items": [{"path": "x"}]}}]}},
                {"name": "bare"},
            ],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "livenessProbe": {"exec": {}}}], "subdomain": "",
            "ephemeralContainers": [{"name": "e", "targetContainerName": "a"}],
            "activeDeadlineSeconds": 5, "hostAliases": [{"ip": "x"}], "hostnameOverride": "x", "runtimeClassName": "x",
            "resources": {"limits": {"cpu": "1"}}, "readinessGates": [{"conditionType": "x"}],
            "affinity": {"nodeAffinity": {"deep": {"down": 1}}},
            "securityContext": {"runAsUser": 1, "fsGroup": 2, "sysctls": [{"name": "a", "value": "b"}], "seLinuxOptions": {"level": "x"}},
            "containers": [{
                "name": "a", "image": "b", "ports": [{"containerPort": 80, "name": "http"}],
                "env": [{"name": "X", "value": "y"}, {"name": "Z", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "F", "valueFrom": {"fileKeyRef": {"key": "k"}}}],
                "resources": {"requests": {"example.com/gpu": "1"}, "limits": {"memory": "1"}},
                "terminationMessagePath": "/dev/termination-log",
                "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "x"}],
                "lifecycle": {"preStop": {"sleep": {"seconds": 1}}, "stopSignal": "SIGINT"},
                "restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}],
                "resizePolicy": [{"resourceName": "cpu"}], "startupProbe": {"exec": {}}, "readinessProbe": {"exec": {}},
                "securityContext": {"procMount": "Unmasked", "appArmorProfile": {"type": "RuntimeDefault"}},
            }],
        },
        "status": {"phase": "Running"},
    });
    assert_eq!(refused(&pod), Vec::<String>::new());
}

#[test]
fn each_field_that_no_one_acts_on_is_named() {
    let pod = json!({
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "generateName": "x"},
        "spec": {
            "schedulingGates": [{"name": "x"}], "serviceAccountName": "x",
            "imagePullSecrets": [{"name": "x"}], "resources": {"claims": [{"name": "c"}]},
            "volumes": [
                {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "c", "configMap": {"name": "c"}},
                {"name": "s", "secret": {"secretName": "s"}}, {"name": "n", "nfs": {"path": "/x"}},
                {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "x"}}, {"downwardAPI": {"items": []}}]}},
            ],
            "securityContext": {"windowsOptions": {"hostProcess": true}, "seLinuxChangePolicy": "Recursive"},
            "initContainers": [{"name": "i", "envFrom": [{"prefix": "x"}]}],
            "ephemeralContainers": [{"name": "x", "volumeDevices": [{"name": "x"}]}],
            "containers": [
                {"name": "a"},
                {
                    "name": "b", "volumeDevices": [{"name": "x"}],
                    "env": [
                        {"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                    "resources": {"limits": {"ephemeral-storage": "1Gi"}, "claims": [{"name": "c"}]},
                    "securityContext": {"windowsOptions": {"hostProcess": true}},
                },
            ],
        },
    });
    let unsupported = "not supported by this release";
    let mut expected = [
        format!("metadata.deletionTimestamp: {FROM_SERVER}"),
        "metadata.generateName: Forbidden: static pods must have metadata.name instead".to_owned(),
        format!("spec.containers[1].env[0].valueFrom.secretKeyRef: {API_OBJECTS}"),
        format!("spec.containers[1].resources.claims: {API_OBJECTS}"),
        format!("spec.containers[1].securityContext.windowsOptions: {WINDOWS}"),
        format!("spec.containers[1].volumeDevices: {unsupported}"),
        format!("spec.ephemeralContainers[0].volumeDevices: {unsupported}"),
        format!("spec.imagePullSecrets: {API_OBJECTS}"),
        format!("spec.initContainers[0].envFrom: {API_OBJECTS}"),
        format!("spec.resources.claims: {API_OBJECTS}"),
        format!("spec.schedulingGates: {unsupported}"),
        format!("spec.securityContext.seLinuxChangePolicy: {unsupported}"),
        format!("spec.securityContext.windowsOptions: {WINDOWS}"),
        format!("spec.serviceAccountName: {API_OBJECTS}"),
        format!("spec.volumes[1].configMap: {API_OBJECTS}"),
        format!("spec.volumes[2].secret: {API_OBJECTS}"),
        format!("spec.volumes[3].nfs: {unsupported}"),
        format!("spec.volumes[4].projected.sources[0].serviceAccountToken: {API_OBJECTS}"),
    ];
    expected.sort();
    let mut found = refused(&pod);
    found.sort();
    assert_eq!(found, expected);
}

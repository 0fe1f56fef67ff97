//! Tests of the lists' capacity.

use serde_json::json;

use super::*;

/// As the API server sends it: with a token in a volume, and what the agent reported.
fn pod() -> Pod {
    let token = json!([
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]);
    let text = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-1"},
        "spec": {
            "containers": [{"name": "main", "volumeMounts": [{"name": "token", "mountPath": "/token"}]}],
            "volumes": [{"name": "token", "projected": {"sources": token}}],
            "tolerations": [{"operator": "Exists"}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{
                "name": "main", "image": "app", "imageID": "app@sha256:1", "ready": true, "restartCount": 0,
                "volumeMounts": [{"name": "token", "mountPath": "/token"}],
            }],
        },
    })
    .to_string();
    serde_json::from_str(&text).expect("a pod")
}

/// Capacity and length of the large lists.
fn capacities(pod: &Pod) -> Vec<(usize, usize)> {
    let (spec, status) = (pod.spec.as_ref().expect("a spec"), pod.status.as_ref().expect("a status"));
    let volume = &spec.volumes.as_ref().expect("volumes")[0];
    let sources =
        volume.projected.as_ref().and_then(|projected| projected.sources.as_ref()).expect("sources");
    let mounts = spec.containers[0].volume_mounts.as_ref().expect("mounts");
    let conditions = status.conditions.as_ref().expect("conditions");
    let containers = status.container_statuses.as_ref().expect("statuses");
    vec![
        (spec.containers.capacity(), spec.containers.len()),
        (sources.capacity(), sources.len()),
        (mounts.capacity(), mounts.len()),
        (conditions.capacity(), conditions.len()),
        (containers.capacity(), containers.len()),
    ]
}

#[test]
fn lists_have_no_capacity_to_spare_and_say_the_same() {
    let read = pod();
    assert!(capacities(&read).iter().any(|(capacity, length)| capacity > length), "{:?}", capacities(&read));
    let mut shrunk = pod();
    shrink_pod(&mut shrunk);
    assert_eq!(shrunk, read);
    assert!(
        capacities(&shrunk).iter().all(|(capacity, length)| capacity == length),
        "{:?}",
        capacities(&shrunk)
    );
}

#[test]
fn a_pod_without_anything_is_left_as_it_is() {
    let mut pod = Pod::default();
    shrink_pod(&mut pod);
    assert_eq!(pod, Pod::default());
}

//! Deletion of pods and others: grace, preconditions, finalizers.

use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::{cases, config, configs, created, deleted, of, patched, pod, pods, refused};

cases![
    a_bound_pod_is_marked_and_waits,
    a_grace_period_only_gets_shorter,
    a_pod_without_a_node_goes_at_once,
    a_pod_that_is_over_goes_at_once,
    another_uid_is_a_conflict,
    finalizers_hold_a_pod,
    others_than_pods_answer_a_status,
    a_name_is_free_after_its_object,
];

async fn a_bound_pod_is_marked_and_waits(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    let marked = deleted(&api, "a", None, None).await.expect("deleted").expect("the pod");
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
    let now = marked.metadata.creation_timestamp.clone().expect("a time").0;
    let end = marked.metadata.deletion_timestamp.clone().expect("a time").0;
    let wait = end.duration_since(now).as_secs();
    assert!((30..60).contains(&wait), "the end lies the grace period ahead: {wait}");
    let still = api.get("a").await.expect("it is still there");
    assert_eq!(still.metadata.uid, made.metadata.uid);
    assert!(deleted(&api, "a", Some(0), None).await.expect("deleted").is_some());
    assert_eq!(refused(api.get("a").await).0, 404);
}

async fn a_grace_period_only_gets_shorter(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let grace = async |wish: Option<u32>| {
        let pod = deleted(&api, "a", wish, None).await.expect("deleted").expect("the pod");
        pod.metadata.deletion_grace_period_seconds
    };
    assert_eq!(grace(Some(20)).await, Some(20));
    assert_eq!(grace(Some(25)).await, Some(20));
    assert_eq!(grace(None).await, Some(20));
    assert_eq!(grace(Some(5)).await, Some(5));
    deleted(&api, "a", Some(0), None).await.expect("deleted");
    assert_eq!(refused(api.get("a").await).0, 404);
}

async fn a_pod_without_a_node_goes_at_once(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "")).await;
    deleted(&api, "a", None, None).await.expect("deleted");
    assert_eq!(refused(api.get("a").await).0, 404);
}

async fn a_pod_that_is_over_goes_at_once(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    for phase in ["Succeeded", "Failed"] {
        created(&api, &pod("a", "n1")).await;
        patched(&api, "a", json!({ "status": { "phase": phase } })).await.expect("patched");
        deleted(&api, "a", None, None).await.expect("deleted");
        assert_eq!(refused(api.get("a").await).0, 404, "{phase}");
    }
}

async fn another_uid_is_a_conflict(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    assert_eq!(refused(deleted(&api, "a", Some(0), Some("another")).await), (409, "Conflict".to_owned()));
    deleted(&api, "a", Some(0), made.metadata.uid.as_deref()).await.expect("its own UID is fine");
    assert_eq!(refused(deleted(&api, "a", Some(0), None).await), (404, "NotFound".to_owned()));
}

async fn finalizers_hold_a_pod(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let wish = of(json!({
        "metadata": { "name": "a", "finalizers": ["example.com/hold"] },
        "spec": { "nodeName": "n1", "containers": [{ "name": "c", "image": "i" }] },
    }));
    created(&api, &wish).await;
    let marked = deleted(&api, "a", Some(0), None).await.expect("deleted").expect("the pod");
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(0));
    patched(&api, "a", json!({ "status": { "phase": "Failed" } })).await.expect("its status may change");
    api.get("a").await.expect("it waits for its finalizer");
    let free = json!({ "metadata": { "finalizers": null } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(&free)).await.expect("patched");
    assert_eq!(refused(api.get("a").await).0, 404);
}

async fn others_than_pods_answer_a_status(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    api.create(&PostParams::default(), &config("a", "1")).await.expect("created");
    let answer = api.delete("a", &DeleteParams::default()).await.expect("deleted");
    assert!(answer.is_right(), "a Status, and no object");
    assert_eq!(refused(api.delete("a", &DeleteParams::default()).await).0, 404);
}

async fn a_name_is_free_after_its_object(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let first = created(&api, &pod("a", "n1")).await;
    assert_eq!(refused(api.create(&PostParams::default(), &pod("a", "n1")).await).0, 409);
    deleted(&api, "a", Some(0), None).await.expect("deleted");
    let second = created(&api, &pod("a", "n1")).await;
    assert_ne!(first.metadata.uid, second.metadata.uid);
}

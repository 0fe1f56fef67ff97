//! Creation and change: defaults, versions, what may be changed.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::{cases, config, configs, created, fields, of, patched, pod, pods, refused};

cases![
    a_created_pod_has_the_defaults_of_its_type,
    a_pods_own_resources_decide_its_class since 34,
    a_generation_counts_changes_of_a_pods_spec since 34,
    names_are_needed_checked_and_made,
    an_object_needs_its_namespace,
    a_put_of_an_older_version_is_a_conflict,
    another_uid_is_a_conflict_in_a_put,
    a_write_that_changes_nothing_makes_no_version,
    a_pod_changes_in_its_image_and_little_else,
    an_immutable_config_map_stays,
    a_node_is_created_with_its_status,
    quantities_and_times_come_back_in_their_canonical_form,
    a_lease_is_put_by_its_version_only,
    an_event_lies_where_its_object_lies,
    both_groups_show_the_same_events,
];

const CREATE: PostParams = PostParams { dry_run: false, field_manager: None };

async fn a_created_pod_has_the_defaults_of_its_type(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = serde_json::to_value(created(&api, &pod("a", "")).await).expect("a pod is JSON");
    for (pointer, expected) in [
        ("/spec/restartPolicy", json!("Always")),
        ("/spec/dnsPolicy", json!("ClusterFirst")),
        ("/spec/terminationGracePeriodSeconds", json!(30)),
        ("/spec/enableServiceLinks", json!(true)),
        ("/spec/priority", json!(0)),
        ("/spec/containers/0/imagePullPolicy", json!("IfNotPresent")),
        ("/spec/containers/0/terminationMessagePath", json!("/dev/termination-log")),
        ("/status/phase", json!("Pending")),
        ("/status/qosClass", json!("BestEffort")),
    ] {
        assert_eq!(made.pointer(pointer), Some(&expected), "{pointer}");
    }
    assert_eq!(made.pointer("/spec/nodeName"), None);
    assert!(made.pointer("/metadata/uid").is_some() && made.pointer("/metadata/creationTimestamp").is_some());
}

async fn a_pods_own_resources_decide_its_class(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let amounts = json!({"cpu": "10m", "memory": "8Mi"});
    for (name, own, class) in [
        ("asks", json!({"requests": amounts}), "Burstable"),
        ("exact", json!({"requests": amounts, "limits": amounts}), "Guaranteed"),
        ("empty", json!({"requests": {}}), "BestEffort"),
    ] {
        let mut wish = serde_json::to_value(pod(name, "")).expect("a pod is JSON");
        wish["spec"]["resources"] = own;
        let wish = serde_json::from_value(wish).expect("a pod");
        let status = created(&api, &wish).await.status.expect("a status");
        assert_eq!(status.qos_class.as_deref(), Some(class), "{name}");
    }
}

async fn a_generation_counts_changes_of_a_pods_spec(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    assert_eq!(made.metadata.generation, Some(1));
    let patch = async |patch: Value| {
        let pod = api.patch("a", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
        pod.metadata.generation
    };
    let image = json!({ "spec": { "containers": [{ "name": "c", "image": "example.com/i:2" }] } });
    assert_eq!(patch(image).await, Some(2));
    assert_eq!(
        patch(json!({ "metadata": { "labels": { "b": "c" } } })).await,
        Some(2),
        "metadata is no part of it"
    );
    let status = patched(&api, "a", json!({ "status": { "phase": "Running" } })).await.expect("patched");
    assert_eq!(status.metadata.generation, Some(2), "nor is the status");
    let marked = api.delete("a", &DeleteParams::default()).await.expect("deleted").left().expect("the pod");
    assert_eq!(marked.metadata.generation, Some(3), "the mark of a deletion is");
}

async fn names_are_needed_checked_and_made(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let mut wish = config("", "1");
    wish.metadata.name = None;
    assert_eq!(refused(api.create(&CREATE, &wish).await).0, 422);
    assert_eq!(fields(api.create(&CREATE, &config("No_Name", "1")).await), ["metadata.name"]);
    wish.metadata.generate_name = Some("made-".to_owned());
    let made = api.create(&CREATE, &wish).await.expect("a name is made").metadata.name.expect("a name");
    assert!(made.starts_with("made-") && made.len() == "made-".len() + 5, "{made}");
    assert_eq!(refused(api.create(&CREATE, &config(&made, "1")).await), (409, "AlreadyExists".to_owned()));
    assert_eq!(refused(api.get("missing").await), (404, "NotFound".to_owned()));
}

async fn an_object_needs_its_namespace(client: Client, namespace: String) {
    let elsewhere = configs(&client, &format!("{namespace}-missing"));
    assert_eq!(refused(elsewhere.create(&CREATE, &config("a", "1")).await), (404, "NotFound".to_owned()));
    let mut wish = config("a", "1");
    wish.metadata.namespace = Some("other".to_owned());
    assert_eq!(refused(configs(&client, &namespace).create(&CREATE, &wish).await).0, 400);
}

async fn a_put_of_an_older_version_is_a_conflict(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let old = api.create(&CREATE, &config("a", "1")).await.expect("created");
    let mut new = old.clone();
    new.data = config("a", "2").data;
    let written = api.replace("a", &CREATE, &new).await.expect("replaced");
    assert_ne!(written.metadata.resource_version, old.metadata.resource_version);
    assert_eq!(written.metadata.uid, old.metadata.uid);
    assert_eq!(refused(api.replace("a", &CREATE, &new).await), (409, "Conflict".to_owned()));
    api.replace("a", &CREATE, &config("a", "3"))
        .await
        .expect("without a version whatever is there is replaced");
    let stale =
        json!({ "metadata": { "resourceVersion": old.metadata.resource_version }, "data": { "k": "4" } });
    let patch = api.patch("a", &PatchParams::default(), &Patch::Merge(&stale)).await;
    assert_eq!(refused(patch), (409, "Conflict".to_owned()));
}

async fn another_uid_is_a_conflict_in_a_put(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let mut made = api.create(&CREATE, &config("a", "1")).await.expect("created");
    made.metadata.uid = Some("another".to_owned());
    assert_eq!(refused(api.replace("a", &CREATE, &made).await), (409, "Conflict".to_owned()));
}

async fn a_write_that_changes_nothing_makes_no_version(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let patch =
        json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    let first = patched(&api, "a", patch.clone()).await.expect("patched");
    let second = patched(&api, "a", patch).await.expect("patched");
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version);
}

async fn a_pod_changes_in_its_image_and_little_else(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let patch = async |patch: Value| api.patch("a", &PatchParams::default(), &Patch::Strategic(&patch)).await;
    let image = json!({ "spec": { "containers": [{ "name": "c", "image": "example.com/i:2" }] } });
    patch(image).await.expect("an image may change");
    patch(json!({ "metadata": { "labels": { "b": "c" } } })).await.expect("labels may change");
    for (what, wish) in [
        ("another node", json!({ "spec": { "nodeName": "n2" } })),
        ("another command", json!({ "spec": { "containers": [{ "name": "c", "command": ["x"] }] } })),
        ("a longer grace period", json!({ "spec": { "terminationGracePeriodSeconds": 60 } })),
    ] {
        assert_eq!(refused(patch(wish).await), (422, "Invalid".to_owned()), "{what}");
    }
    let status = patch(json!({ "status": { "phase": "Failed" } })).await.expect("the status is left out");
    assert_eq!(status.status.and_then(|status| status.phase).as_deref(), Some("Pending"));
}

async fn an_immutable_config_map_stays(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let mut wish = config("a", "1");
    wish.immutable = Some(true);
    api.create(&CREATE, &wish).await.expect("created");
    let other = json!({ "data": { "k": "2" } });
    let patch = api.patch("a", &PatchParams::default(), &Patch::Merge(&other)).await;
    assert_eq!(refused(patch), (422, "Invalid".to_owned()));
}

/// A node of a name of its own; nodes lie outside namespaces.
fn node(namespace: &str, status: Value) -> Node {
    of(json!({ "metadata": { "name": format!("node-{namespace}") }, "status": status }))
}

async fn a_node_is_created_with_its_status(client: Client, namespace: String) {
    let api: Api<Node> = Api::all(client);
    let condition = json!({ "type": "Ready", "status": "False", "reason": "KubeletNotReady" });
    let made =
        api.create(&CREATE, &node(&namespace, json!({ "conditions": [condition] }))).await.expect("created");
    let name = made.metadata.name.expect("a name");
    assert_eq!(made.status.and_then(|status| status.conditions).map(|conditions| conditions.len()), Some(1));
    let patch = json!({
        "metadata": { "labels": { "a": "b" } },
        "spec": { "unschedulable": true },
        "status": { "conditions": [{ "type": "MemoryPressure", "status": "False" }] },
    });
    let patched =
        api.patch_status(&name, &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
    assert_eq!(patched.metadata.labels.and_then(|labels| labels.get("a").cloned()).as_deref(), Some("b"));
    assert_eq!(patched.spec.and_then(|spec| spec.unschedulable), None, "the spec isn't the status's");
    assert_eq!(
        patched.status.and_then(|status| status.conditions).map(|conditions| conditions.len()),
        Some(2)
    );
    api.delete(&name, &DeleteParams::default()).await.expect("deleted");
}

async fn quantities_and_times_come_back_in_their_canonical_form(client: Client, namespace: String) {
    let api: Api<Node> = Api::all(client);
    let condition =
        json!({ "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:05.678Z" });
    let capacity =
        json!({ "cpu": "2000m", "memory": "8388608Ki", "pods": "110", "ephemeral-storage": "1000000" });
    let status = json!({ "capacity": capacity, "conditions": [condition] });
    let made = api.create(&CREATE, &node(&namespace, status)).await.expect("created");
    let name = made.metadata.name.clone().expect("a name");
    let made = serde_json::to_value(made).expect("a node is JSON");
    assert_eq!(made["status"]["capacity"]["cpu"], "2");
    assert_eq!(made["status"]["capacity"]["memory"], "8Gi");
    assert_eq!(made["status"]["capacity"]["ephemeral-storage"], "1M");
    assert_eq!(made["status"]["conditions"][0]["lastHeartbeatTime"], "2026-01-02T03:04:05Z");
    api.delete(&name, &DeleteParams::default()).await.expect("deleted");
}

async fn a_lease_is_put_by_its_version_only(client: Client, namespace: String) {
    let api: Api<Lease> = Api::namespaced(client, &namespace);
    let lease = |seconds: i32| -> Lease {
        of(
            json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "n1", "leaseDurationSeconds": seconds,
            "renewTime": "2026-01-02T03:04:05.000006Z" } }),
        )
    };
    assert_eq!(fields(api.create(&CREATE, &lease(0)).await), ["spec.leaseDurationSeconds"]);
    let mut made = api.create(&CREATE, &lease(40)).await.expect("created");
    let shown = serde_json::to_value(&made).expect("a lease is JSON");
    assert_eq!(shown["spec"]["renewTime"], "2026-01-02T03:04:05.000006Z");
    assert_eq!(fields(api.replace("l", &CREATE, &lease(41)).await), ["metadata.resourceVersion"]);
    made.spec = lease(41).spec;
    api.replace("l", &CREATE, &made).await.expect("replaced");
    assert_eq!(refused(api.replace("l", &CREATE, &lease_of(&made, 42)).await), (409, "Conflict".to_owned()));
}

fn lease_of(lease: &Lease, seconds: i32) -> Lease {
    let mut lease = lease.clone();
    if let Some(spec) = &mut lease.spec {
        spec.lease_duration_seconds = Some(seconds);
    }
    lease
}

fn event(name: &str, kind: &str, namespace: Option<&str>) -> Event {
    of(json!({
        "metadata": { "name": name }, "reason": "Tried", "message": "it was tried", "type": "Normal", "count": 1,
        "involvedObject": { "kind": kind, "namespace": namespace, "name": "a" }, "source": { "component": "kubelet" },
        "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:05Z",
    }))
}

async fn an_event_lies_where_its_object_lies(client: Client, namespace: String) {
    let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let elsewhere = api.create(&CREATE, &event("a", "Pod", Some("default"))).await;
    assert_eq!(fields(elsewhere), ["involvedObject.namespace"]);
    assert_eq!(fields(api.create(&CREATE, &event("a", "Node", None)).await), ["involvedObject.namespace"]);
    api.create(&CREATE, &event("a", "Pod", Some(&namespace))).await.expect("created");
    let again = json!({ "count": 2, "lastTimestamp": "2026-01-02T03:04:06Z" });
    let counted = api.patch("a", &PatchParams::default(), &Patch::Strategic(&again)).await.expect("patched");
    assert_eq!(counted.count, Some(2));
    let of_nodes: Api<Event> = Api::namespaced(client, "default");
    let name = format!("node-{namespace}");
    of_nodes.create(&CREATE, &event(&name, "Node", None)).await.expect("a node's event lies in default");
}

async fn both_groups_show_the_same_events(client: Client, namespace: String) {
    let core: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let new: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(client, &namespace);
    core.create(&CREATE, &event("a", "Pod", Some(&namespace))).await.expect("created");
    let shown = new.get("a").await.expect("the same event");
    assert_eq!(shown.note.as_deref(), Some("it was tried"));
    assert_eq!(shown.deprecated_count, Some(1));
    assert_eq!(shown.regarding.and_then(|object| object.kind).as_deref(), Some("Pod"));
}

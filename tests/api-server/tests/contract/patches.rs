//! Patches of a pod's status, as a node agent sends them.

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::{cases, created, fields, patched, pod, pods, refused};

cases![
    another_uid_makes_a_patch_invalid,
    conditions_are_merged_and_container_statuses_replaced,
    vanished_addresses_go_by_a_directive,
    directives_order_delete_and_replace,
    a_list_that_contradicts_its_order_is_refused,
    what_only_the_server_has_keeps_its_place,
    a_status_patch_leaves_the_spec,
    a_container_that_ended_for_good_stays_ended,
    a_patch_of_what_is_gone_is_not_found,
    a_patch_of_an_unknown_type_is_refused,
];

fn status(pod: &k8s_openapi::api::core::v1::Pod) -> Value {
    serde_json::to_value(&pod.status).expect("a status is JSON")
}

async fn another_uid_makes_a_patch_invalid(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    let patch = |uid: &str| json!({ "metadata": { "uid": uid }, "status": { "phase": "Running" } });
    assert_eq!(refused(patched(&api, "a", patch("another")).await), (422, "Invalid".to_owned()));
    // Some servers say it twice.
    let named = fields(patched(&api, "a", patch("another")).await);
    assert!(!named.is_empty() && named.iter().all(|field| field == "metadata.uid"), "{named:?}");
    patched(&api, "a", patch(made.metadata.uid.as_deref().unwrap_or_default()))
        .await
        .expect("its own UID is fine");
}

async fn conditions_are_merged_and_container_statuses_replaced(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let container =
        |name: &str| json!({ "name": name, "image": "i", "imageID": "", "ready": true, "restartCount": 0 });
    let first = json!({ "status": {
        "conditions": [{ "type": "Ready", "status": "False", "reason": "R" }, { "type": "example.com/gate", "status": "True" }],
        "containerStatuses": [container("c"), container("d")],
    } });
    patched(&api, "a", first).await.expect("patched");
    let second = json!({ "status": {
        "conditions": [{ "type": "Ready", "status": "True", "reason": null }],
        "containerStatuses": [container("c")],
    } });
    let now = status(&patched(&api, "a", second).await.expect("patched"));
    let conditions = now["conditions"].as_array().cloned().unwrap_or_default();
    assert_eq!(conditions.len(), 2, "{conditions:?}");
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").expect("it was merged");
    assert_eq!((&ready["status"], ready.get("reason")), (&json!("True"), None));
    assert_eq!(now["containerStatuses"].as_array().map(Vec::len), Some(1));
}

async fn vanished_addresses_go_by_a_directive(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let first = json!({ "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }] } });
    patched(&api, "a", first).await.expect("patched");
    let second = json!({ "status": { "podIP": "10.0.0.2",
        "podIPs": [{ "ip": "10.0.0.2" }, { "$patch": "delete", "ip": "10.0.0.1" }] } });
    let now = status(&patched(&api, "a", second).await.expect("patched"));
    assert_eq!(now["podIPs"], json!([{ "ip": "10.0.0.2" }]));
    let none = json!({ "status": { "podIP": null, "podIPs": null } });
    let now = status(&patched(&api, "a", none).await.expect("patched"));
    assert_eq!((now.get("podIP"), now.get("podIPs")), (None, None));
}

/// As upstream's two-way merge patches are written: what a list is to be goes along as `$setElementOrder`, and what is patched is in
/// the same order.
async fn directives_order_delete_and_replace(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let tell = async |status_patch: Value| {
        status(&patched(&api, "a", json!({ "status": status_patch })).await.expect("patched"))
    };
    let types = |now: &Value| -> Vec<String> {
        let all = now["conditions"].as_array().into_iter().flatten();
        all.map(|condition| condition["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let of_type = |name: &str| json!({ "type": name, "status": "True" });
    let names = |names: &[&str]| names.iter().map(|name| json!({ "type": name })).collect::<Vec<_>>();
    let first = json!({ "$setElementOrder/conditions": names(&["B", "A", "C"]),
        "conditions": [of_type("B"), of_type("A"), of_type("C")] });
    assert_eq!(types(&tell(first).await), ["B", "A", "C"]);
    let second = json!({ "$setElementOrder/conditions": names(&["C", "D", "B"]),
        "conditions": [of_type("D"), { "type": "B", "status": "False" }, { "$patch": "delete", "type": "A" }] });
    let now = tell(second).await;
    assert_eq!(types(&now), ["C", "D", "B"]);
    assert_eq!(now["conditions"][2]["status"], "False");
    let third = json!({ "conditions": [{ "$patch": "replace" }, of_type("E")] });
    assert_eq!(types(&tell(third).await), ["E"]);
    let ips = |ips: &[&str]| ips.iter().map(|ip| json!({ "ip": ip })).collect::<Vec<_>>();
    let both = ips(&["10.0.0.1", "fd00::1"]);
    let two = json!({ "$setElementOrder/podIPs": both, "podIP": "10.0.0.1", "podIPs": both });
    assert_eq!(tell(two).await["podIPs"], json!(both));
    let one = json!({ "$setElementOrder/podIPs": ips(&["10.0.0.2"]), "podIP": "10.0.0.2", "podIPs": [
        { "ip": "10.0.0.2" }, { "$patch": "delete", "ip": "10.0.0.1" }, { "$patch": "delete", "ip": "fd00::1" }] });
    assert_eq!(tell(one).await["podIPs"], json!(ips(&["10.0.0.2"])));
}

fn ordered(order: &[&str], patched: &[&str]) -> Value {
    let names = order.iter().map(|name| json!({ "type": name })).collect::<Vec<_>>();
    let conditions = patched.iter().map(|name| json!({ "type": name, "status": "True" })).collect::<Vec<_>>();
    json!({ "status": { "$setElementOrder/conditions": names, "conditions": conditions } })
}

fn condition_types(now: &k8s_openapi::api::core::v1::Pod) -> Vec<String> {
    let conditions = now.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().map(|condition| condition.type_.clone()).collect()
}

async fn a_list_that_contradicts_its_order_is_refused(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    // It isn't taken for the sender's mistake, and has no reason.
    let internal = || (500, String::new());
    for (order, list) in
        [(["A", "B"], &["B", "A"][..]), (["A", "B"], &["C"][..]), (["A", "B"], &["A", "A"][..])]
    {
        assert_eq!(
            refused(patched(&api, "a", ordered(&order, list)).await),
            internal(),
            "{order:?} {list:?}"
        );
    }
    let no_list = json!({ "status": { "$setElementOrder/conditions": "A", "conditions": [] } });
    assert_eq!(refused(patched(&api, "a", no_list).await), internal());
    let now = api.get("a").await.expect("it is there");
    assert_eq!(now.metadata.resource_version, made.metadata.resource_version, "nothing was written");
    // Where there is nothing to merge with, keys aren't required, and that there is none is the object's fault.
    let no_key = || json!({ "status": { "conditions": [{ "status": "True" }] } });
    let invalid = fields(patched(&api, "a", no_key()).await);
    // Servers before 1.36 are known to call it a field of the metadata.
    let is_type =
        |field: &String| matches!(&**field, "status.conditions[0].Type" | "metadata.conditions[0].Type");
    assert!(!invalid.is_empty() && invalid.iter().all(is_type), "{invalid:?}");
    patched(&api, "a", ordered(&["A"], &["A"])).await.expect("patched");
    assert_eq!(refused(patched(&api, "a", no_key()).await), internal());
}

async fn what_only_the_server_has_keeps_its_place(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    patched(&api, "a", ordered(&["A", "B", "C"], &["A", "B", "C"])).await.expect("patched");
    for (order, list, expected) in [
        (&["C", "A"][..], &[][..], &["B", "C", "A"][..]),
        (&["D", "A"], &["D"], &["D", "B", "C", "A"]),
        (&["C", "B"], &["C"], &["D", "C", "B", "A"]),
    ] {
        let now = patched(&api, "a", ordered(order, list)).await.expect("patched");
        assert_eq!(condition_types(&now), expected, "{order:?} {list:?}");
    }
}

async fn a_status_patch_leaves_the_spec(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let patch = json!({ "spec": { "activeDeadlineSeconds": 5 }, "status": { "phase": "Running" } });
    let now = patched(&api, "a", patch).await.expect("patched");
    assert_eq!(now.spec.and_then(|spec| spec.active_deadline_seconds), None);
    assert_eq!(now.status.and_then(|status| status.phase).as_deref(), Some("Running"));
}

async fn a_container_that_ended_for_good_stays_ended(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let mut wish = pod("a", "n1");
    if let Some(spec) = &mut wish.spec {
        spec.restart_policy = Some("Never".to_owned());
    }
    created(&api, &wish).await;
    let container = |state: Value| {
        json!({ "status": { "containerStatuses":
            [{ "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state }] } })
    };
    patched(&api, "a", container(json!({ "terminated": { "exitCode": 1 } }))).await.expect("it ended");
    let again =
        patched(&api, "a", container(json!({ "running": { "startedAt": "2026-01-02T03:04:05Z" } }))).await;
    assert_eq!(refused(again), (422, "Invalid".to_owned()));
}

async fn a_patch_of_what_is_gone_is_not_found(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let patch = patched(&api, "gone", json!({ "status": { "phase": "Running" } })).await;
    assert_eq!(refused(patch), (404, "NotFound".to_owned()));
}

async fn a_patch_of_an_unknown_type_is_refused(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let request = http::Request::patch(format!("/api/v1/namespaces/{namespace}/pods/a"))
        .header("content-type", "application/json")
        .body(b"{}".to_vec())
        .expect("a request");
    assert_eq!(refused(client.request::<Value>(request).await).0, 415);
    let api: Api<k8s_openapi::api::core::v1::Pod> = api;
    let broken = json!({ "spec": { "containers": [{ "image": "no name" }] } });
    assert!(refused(api.patch("a", &PatchParams::default(), &Patch::Strategic(&broken)).await).0 >= 400);
}

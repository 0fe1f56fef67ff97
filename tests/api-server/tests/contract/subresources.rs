//! Binding, eviction, resize, ephemeral containers, tokens, reviews, signing requests.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::{cases, created, fields, of, patched, pod, pods, refused};

cases![
    a_binding_gives_a_pod_its_node_once,
    an_eviction_is_a_deletion_with_a_condition since 26,
    a_resize_changes_resources_only since 33,
    ephemeral_containers_are_only_added since 23,
    kubectl_debug_adds_containers_as_it_was_recorded since 23,
    a_token_is_bound_to_a_pod_that_is_there,
    a_token_review_knows_a_token_of_its_own,
    an_access_review_tells_who_may,
];

const CREATE: PostParams = PostParams { dry_run: false, field_manager: None };

async fn post(client: &Client, path: String, body: Value) -> Result<Value, kube::Error> {
    let request = http::Request::post(path).header("content-type", "application/json");
    client.request(request.body(body.to_string().into_bytes()).expect("a request")).await
}

async fn a_binding_gives_a_pod_its_node_once(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "")).await;
    let binding = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "a" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "n1" } });
    let path = format!("/api/v1/namespaces/{namespace}/pods/a/binding");
    post(&client, path.clone(), binding.clone()).await.expect("bound");
    let bound = serde_json::to_value(api.get("a").await.expect("the pod")).expect("a pod is JSON");
    assert_eq!(bound["spec"]["nodeName"], "n1");
    let conditions = bound["status"]["conditions"].as_array().cloned().unwrap_or_default();
    assert!(conditions.iter().any(|c| c["type"] == "PodScheduled" && c["status"] == "True"));
    assert_eq!(refused(post(&client, path, binding).await).0, 409);
}

async fn an_eviction_is_a_deletion_with_a_condition(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    patched(&api, "a", json!({ "status": { "phase": "Running" } })).await.expect("patched");
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "a", "namespace": namespace } });
    let path = format!("/api/v1/namespaces/{namespace}/pods/a/eviction");
    post(&client, path, eviction).await.expect("evicted");
    let evicted = api.get("a").await.expect("it waits for its grace period");
    assert_eq!(evicted.metadata.deletion_grace_period_seconds, Some(30));
    let conditions = evicted.status.and_then(|status| status.conditions).unwrap_or_default();
    let target =
        conditions.iter().find(|condition| condition.type_ == "DisruptionTarget").expect("a condition");
    assert_eq!(target.reason.as_deref(), Some("EvictionByEvictionAPI"));
}

async fn a_resize_changes_resources_only(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    // A resize is granted to pods of nodes that the server knows, and that have so much.
    let nodes: Api<Node> = Api::all(client.clone());
    let node = format!("node-of-{namespace}");
    let amounts = json!({ "cpu": "4", "memory": "4Gi", "pods": "110" });
    let status = json!({ "capacity": amounts, "allocatable": amounts });
    let wish: Node = of(json!({ "metadata": { "name": node }, "status": status }));
    nodes.create(&PostParams::default(), &wish).await.expect("created");
    let wish: Pod = of(json!({
        "metadata": { "name": "a" },
        "spec": { "nodeName": node, "containers":
            [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } } }] },
    }));
    created(&api, &wish).await;
    patched(&api, "a", json!({ "status": { "phase": "Running" } })).await.expect("patched");
    let patch = json!({ "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "200m" } } }] } });
    let plain = api.patch("a", &PatchParams::default(), &Patch::Strategic(&patch)).await;
    assert_eq!(refused(plain), (422, "Invalid".to_owned()));
    let resized =
        api.patch_subresource("resize", "a", &PatchParams::default(), &Patch::Strategic(&patch)).await;
    let resized = serde_json::to_value(resized.expect("resized")).expect("a pod is JSON");
    let requests = &resized["spec"]["containers"][0]["resources"]["requests"];
    assert_eq!(requests, &json!({ "cpu": "200m", "memory": "64Mi" }));
    assert_eq!(resized["metadata"]["generation"], 2);
    nodes.delete(&node, &DeleteParams::default()).await.expect("deleted");
}

async fn ephemeral_containers_are_only_added(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let patch = async |containers: Value| {
        let patch = json!({ "spec": { "ephemeralContainers": containers } });
        let params = PatchParams::default();
        api.patch_subresource("ephemeralcontainers", "a", &params, &Patch::Strategic(&patch)).await
    };
    let debug = json!({ "name": "debug", "image": "i", "terminationMessagePolicy": "File" });
    let added = patch(json!([debug])).await.expect("added");
    assert_eq!(added.spec.and_then(|spec| spec.ephemeral_containers).map(|all| all.len()), Some(1));
    let second = patch(json!([{ "name": "more", "image": "i", "terminationMessagePolicy": "File" }]))
        .await
        .expect("added");
    assert_eq!(second.spec.and_then(|spec| spec.ephemeral_containers).map(|all| all.len()), Some(2));
    let other = patch(json!([{ "name": "debug", "image": "other" }])).await;
    assert_eq!(refused(other), (422, "Invalid".to_owned()));
    let gone = patch(json!([{ "name": "debug", "$patch": "delete" }])).await;
    assert_eq!(refused(gone), (422, "Invalid".to_owned()));
}

/// The patches that kubectl 1.36 sends for `kubectl debug -it a --target=c`, twice.
async fn kubectl_debug_adds_containers_as_it_was_recorded(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    created(&api, &pod("a", "n1")).await;
    let container = |name: &str, target: &str| {
        json!({
            "command": ["sh"], "image": "example.com/debug:1", "name": name, "resources": {},
            "securityContext": { "capabilities": { "add": ["SYS_PTRACE"] } },
            "stdin": true, "targetContainerName": target, "terminationMessagePolicy": "File", "tty": true,
        })
    };
    let patch = async |name: &str, target: &str, order: &[&str]| {
        let mut spec = json!({ "ephemeralContainers": [container(name, target)] });
        if !order.is_empty() {
            let order: Vec<Value> = order.iter().map(|name| json!({ "name": name })).collect();
            spec["$setElementOrder/ephemeralContainers"] = order.into();
        }
        let patch = json!({ "spec": spec });
        api.patch_subresource("ephemeralcontainers", "a", &PatchParams::default(), &Patch::Strategic(&patch))
            .await
    };
    patch("first", "c", &[]).await.expect("added");
    let both = patch("second", "c", &["first", "second"]).await.expect("added");
    let both = serde_json::to_value(both.spec.and_then(|spec| spec.ephemeral_containers)).expect("JSON");
    for (at, name) in ["first", "second"].iter().enumerate() {
        // What a node relies on is filled in.
        let mut expected = container(name, "c");
        expected["imagePullPolicy"] = "IfNotPresent".into();
        expected["terminationMessagePath"] = "/dev/termination-log".into();
        let mut found = both[at].clone();
        for either in [&mut expected, &mut found] {
            either.as_object_mut().expect("a container").retain(|key, _| key != "resources");
        }
        assert_eq!(found, expected);
    }
    let order = ["first", "second", "third"];
    let unknown = patch("third", "no-one", &order).await;
    assert_eq!(fields(unknown), ["spec.ephemeralContainers[2].targetContainerName"]);
    let twice = patch("c", "c", &["first", "second", "c"]).await;
    assert_eq!(fields(twice), ["spec.ephemeralContainers[2].name"]);
}

/// A pod of an account of its own, and a request for a token that is bound to it.
async fn account(client: &Client, namespace: &str) -> (Api<ServiceAccount>, Pod) {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let wish: ServiceAccount = of(json!({ "metadata": { "name": "worker" } }));
    accounts.create(&CREATE, &wish).await.expect("created");
    let mut wish = pod("a", "n1");
    if let Some(spec) = &mut wish.spec {
        spec.service_account_name = Some("worker".to_owned());
    }
    (accounts, created(&pods(client, namespace), &wish).await)
}

fn request(pod: &str, uid: Option<&str>, seconds: i64) -> TokenRequest {
    let bound = json!({ "kind": "Pod", "apiVersion": "v1", "name": pod, "uid": uid });
    of(json!({ "spec": { "audiences": [], "expirationSeconds": seconds, "boundObjectRef": bound } }))
}

async fn a_token_is_bound_to_a_pod_that_is_there(client: Client, namespace: String) {
    let (accounts, pod) = account(&client, &namespace).await;
    let uid = pod.metadata.uid.as_deref();
    let ask = async |request: &TokenRequest| accounts.create_token_request("worker", &CREATE, request).await;
    let first = ask(&request("a", uid, 3600)).await.expect("a token");
    let second = ask(&request("a", uid, 3600)).await.expect("a token");
    let (first, second) = (first.status.expect("a status"), second.status.expect("a status"));
    assert_ne!(first.token, second.token, "each request gets a token of its own");
    assert_eq!(first.token.unwrap_or_default().split('.').count(), 3);
    assert!(first.expiration_timestamp.is_some());
    assert_eq!(refused(ask(&request("a", uid, 599)).await).0, 422);
    assert_eq!(refused(ask(&request("gone", uid, 3600)).await).0, 404);
    assert_eq!(refused(ask(&request("a", Some("another"), 3600)).await).0, 409);
    let unknown = accounts.create_token_request("unknown", &CREATE, &request("a", uid, 3600)).await;
    assert_eq!(refused(unknown).0, 404);
}

async fn a_token_review_knows_a_token_of_its_own(client: Client, namespace: String) {
    let (accounts, pod) = account(&client, &namespace).await;
    let made = accounts
        .create_token_request("worker", &CREATE, &request("a", pod.metadata.uid.as_deref(), 3600))
        .await;
    let token = made.expect("a token").status.and_then(|status| status.token).expect("a token");
    let reviews: Api<TokenReview> = Api::all(client);
    let review = async |token: &str| {
        let review: TokenReview = of(json!({ "spec": { "token": token } }));
        reviews.create(&CREATE, &review).await.expect("an answer").status.expect("a status")
    };
    let known = review(&token).await;
    let user = known.user.expect("a user");
    assert_eq!(known.authenticated, Some(true));
    assert_eq!(user.username, Some(format!("system:serviceaccount:{namespace}:worker")));
    assert!(user.groups.is_some_and(|groups| groups.iter().any(|group| group == "system:serviceaccounts")));
    let unknown = review("no.such.token").await;
    assert_ne!(unknown.authenticated, Some(true));
}

async fn an_access_review_tells_who_may(client: Client, _namespace: String) {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let may = async |user: &str, groups: Value| {
        let review: SubjectAccessReview = of(json!({ "spec": { "user": user, "groups": groups,
            "resourceAttributes": { "verb": "get", "resource": "nodes", "subresource": "proxy", "name": "n1" } } }));
        reviews.create(&CREATE, &review).await.expect("an answer").status.expect("a status").allowed
    };
    assert!(may("alice", json!(["system:masters"])).await);
    assert!(!may("alice", json!(["system:authenticated"])).await);
}

//! The server through its in-process client, on paused time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenReview};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use crate::{Admission, ApiServer, Effect, Fault, Identity, Moment, Options, Security};

fn server() -> Arc<ApiServer> {
    let start = tokio::time::Instant::now();
    let clock = move || {
        Timestamp::UNIX_EPOCH + jiff::SignedDuration::try_from(start.elapsed()).expect("a short time")
    };
    ApiServer::new(Options { history_max: 50, ..Options::new(Arc::new(clock)) })
}

fn pod(name: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": name }, "spec": { "nodeName": "n1", "containers": [{ "name": "c", "image": "i:1" }] },
    }))
    .expect("a pod")
}

fn config(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "k": value } }))
        .expect("a config map")
}

fn code<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> u16 {
    match result.expect_err("a refusal") {
        kube::Error::Api(status) => status.code,
        other => panic!("no answer of the server: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_created_with_defaults_patched_and_deleted_with_its_grace() {
    let server = server();
    let pods: Api<Pod> = Api::namespaced(server.client(&Identity::admin()), "default");
    let made = pods.create(&PostParams::default(), &pod("a")).await.expect("created");
    let spec = made.spec.as_ref().expect("a spec");
    assert_eq!(spec.restart_policy.as_deref(), Some("Always"));
    assert_eq!(spec.termination_grace_period_seconds, Some(30));
    assert_eq!(made.status.as_ref().and_then(|s| s.phase.as_deref()), Some("Pending"));
    assert_eq!(made.metadata.generation, Some(1));

    let status = json!({ "metadata": { "uid": made.metadata.uid }, "status": { "phase": "Running" } });
    let patched =
        pods.patch_status("a", &PatchParams::default(), &Patch::Strategic(&status)).await.expect("patched");
    assert_eq!(patched.status.and_then(|s| s.phase).as_deref(), Some("Running"));
    let version = patched.metadata.resource_version;
    let again =
        pods.patch_status("a", &PatchParams::default(), &Patch::Strategic(&status)).await.expect("patched");
    assert_eq!(again.metadata.resource_version, version, "a patch that changes nothing writes nothing");

    let other = json!({ "metadata": { "uid": "other" }, "status": { "phase": "Running" } });
    assert_eq!(code(pods.patch_status("a", &PatchParams::default(), &Patch::Strategic(&other)).await), 422);

    let marked = pods.delete("a", &DeleteParams::default()).await.expect("deleted").left().expect("a pod");
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(marked.metadata.generation, Some(2));
    assert!(server.get::<Pod>("default", "a").is_some());
    let wrong = DeleteParams::default().grace_period(0).preconditions(kube::api::Preconditions {
        uid: Some("other".to_owned()),
        ..kube::api::Preconditions::default()
    });
    assert_eq!(code(pods.delete("a", &wrong).await), 409);
    pods.delete("a", &DeleteParams::default().grace_period(0)).await.expect("deleted");
    assert_eq!(code(pods.get("a").await), 404);
    assert_eq!(server.count("patch pods/status"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_group_of_another_server_is_listed_and_answered_for() {
    let server = server();
    let client = server.client(&Identity::admin());
    let ask = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        client.request::<Value>(request).await
    };
    let document = json!({ "kind": "NodeMetricsList", "items": [] });
    server.aggregate("metrics.k8s.io", "v1beta1", [("/nodes".to_owned(), document.clone())].into());
    assert_eq!(ask("/apis/metrics.k8s.io/v1beta1/nodes").await.expect("given"), document);
    let groups = ask("/apis").await.expect("listed");
    let names: Vec<&str> = groups["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    assert!(names.contains(&"metrics.k8s.io") && names.contains(&"coordination.k8s.io"), "{names:?}");
    assert_eq!(code(ask("/apis/metrics.k8s.io/v1beta1/pods").await), 404);
    assert_eq!(ask("/api/v1/namespaces/default").await.expect("its own")["kind"], "Namespace");
}

#[tokio::test(start_paused = true)]
async fn an_informer_sees_every_change_and_survives_forgotten_history() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(&Identity::admin()), "default");
    for streaming in [false, true] {
        let options =
            if streaming { watcher::Config::default().streaming_lists() } else { watcher::Config::default() };
        let mut seen = Box::pin(watcher(configs.clone(), options).default_backoff().applied_objects());
        let name = format!("one-{streaming}");
        server.create(&config(&name, "1")).expect("created");
        let mut wait_for = async |expected: &str| loop {
            if let Ok(config) = seen.next().await.expect("a stream without end")
                && config.metadata.name.as_ref() == Some(&name)
                && config.data.as_ref().and_then(|d| d.get("k")).map(String::as_str) == Some(expected)
            {
                break;
            }
        };
        wait_for("1").await;
        server.update(&config(&name, "2")).expect("updated");
        wait_for("2").await;
        server.expire_history();
        server.update(&config(&name, "3")).expect("updated");
        wait_for("3").await;
        server.down();
        server.update(&config(&name, "4")).expect("updated");
        tokio::time::sleep(Duration::from_secs(60)).await;
        server.up();
        wait_for("4").await;
        server.end_watches();
        server.update(&config(&name, "5")).expect("updated");
        wait_for("5").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_in_410_where_history_is_forgotten_and_sends_bookmarks() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(&Identity::admin()), "default");
    for n in 0..60 {
        server.create(&config(&format!("c{n}"), "1")).expect("created");
    }
    let events: Vec<_> = configs.watch(&WatchParams::default(), "2").await.expect("a watch").collect().await;
    assert!(matches!(events.as_slice(), [Ok(WatchEvent::Error(status))] if status.code == 410), "{events:?}");

    let version = server.revision().to_string();
    let params = WatchParams::default().timeout(150);
    let events: Vec<_> =
        configs.watch(&params, &version).await.expect("a watch").try_collect().await.expect("events");
    assert_eq!(events.len(), 3, "two in two minutes and one at the end: {events:?}");
    assert!(events.iter().all(|event| matches!(event, WatchEvent::Bookmark(_))));
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_version_that_the_list_began_with() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(&Identity::admin()), "default");
    for n in 0..5 {
        server.create(&config(&format!("c{n}"), "1")).expect("created");
    }
    let first = configs.list(&ListParams::default().limit(2)).await.expect("a page");
    assert_eq!((first.items.len(), first.metadata.remaining_item_count), (2, Some(3)));
    server.delete::<ConfigMap>("default", "c3", None).expect("deleted");
    server.create(&config("c9", "1")).expect("created");
    let token = first.metadata.continue_.expect("a token");
    let rest = configs.list(&ListParams::default().continue_token(&token)).await.expect("the rest");
    let names: Vec<_> = rest.items.iter().filter_map(|c| c.metadata.name.as_deref()).collect();
    assert_eq!(names, ["c2", "c3", "c4"]);
    server.expire_history();
    assert_eq!(code(configs.list(&ListParams::default().continue_token(&token)).await), 410);
    let ahead = (server.revision() + 10).to_string();
    let ahead = ListParams::default().at(&ahead).matching(kube::api::VersionMatch::NotOlderThan);
    assert_eq!(code(configs.list(&ahead).await), 504);
}

#[tokio::test(start_paused = true)]
async fn faults_strike_by_their_rules() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(&Identity::admin()), "default");
    let create = async |name: &str| configs.create(&PostParams::default(), &config(name, "1")).await;
    server.fault(Fault::new(Effect::code(500)).verb("create").on("configmaps").times(1));
    server.fault(Fault::new(Effect::DropAfter).on("configmaps").name("").times(1));
    assert_eq!(code(create("a").await), 500);
    assert!(server.get::<ConfigMap>("default", "a").is_none());
    assert!(matches!(create("a").await, Err(kube::Error::Service(_))));
    assert!(server.get::<ConfigMap>("default", "a").is_some(), "applied, and the answer lost");
    assert_eq!(code(create("a").await), 409);

    let number = server.fault(Fault::new(Effect::Stall).on("configmaps"));
    assert!(tokio::time::timeout(Duration::from_secs(3600), create("b")).await.is_err());
    server.remove_fault(number);
    server.fault(Fault::new(Effect::Slow(Duration::from_secs(9))).times(1));
    let before = tokio::time::Instant::now();
    create("b").await.expect("created, slowly");
    assert_eq!(before.elapsed().as_secs(), 9);

    server.down();
    assert!(matches!(create("c").await, Err(kube::Error::Service(_))));
    server.up();
    create("c").await.expect("created");

    for effect in [Effect::html(200), Effect::nothing(), Effect::Half] {
        server.fault(Fault::new(effect).verb("create").times(1));
        assert!(matches!(create("d").await, Err(kube::Error::SerdeError(_))));
    }
    assert!(server.get::<ConfigMap>("default", "d").is_some(), "done, and half of the answer was sent");
    server.fault(Fault::new(Effect::html(502)).verb("create").times(1));
    assert!(create("e").await.is_err() && server.get::<ConfigMap>("default", "e").is_none());
    server.fault(Fault::new(Effect::code(500)).streaming_list().times(1));
    configs.list(&ListParams::default()).await.expect("a list isn't a watch that begins with one");

    server.clear_faults();
    server.fault(Fault::new(Effect::MalformedEvent).verb("watch").times(1));
    let raw: Api<kube::api::DynamicObject> = Api::namespaced_with(
        server.client(&Identity::admin()),
        "default",
        &kube::api::ApiResource::erase::<ConfigMap>(&()),
    );
    let mut events =
        Box::pin(raw.watch(&WatchParams::default(), &server.revision().to_string()).await.expect("a watch"));
    let WatchEvent::Added(event) = events.next().await.expect("an event").expect("readable without its type")
    else {
        panic!("the malformed event comes first")
    };
    assert_eq!(event.data["data"], Value::from("malformed"));
}

#[tokio::test(start_paused = true)]
async fn everything_hangs_from_the_request_that_is_held() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(&Identity::admin()), "default");
    for (moment, is_there) in [(Moment::Before, false), (Moment::After, true)] {
        let name = format!("held-{moment:?}").to_ascii_lowercase();
        server.hold_from(server.last_request() + 2, moment);
        configs.list(&ListParams::default()).await.expect("answered before");
        let made = Mutex::new(false);
        let create = async {
            let answer = configs.create(&PostParams::default(), &config(&name, "1")).await;
            *made.lock().expect("no panic") = answer.is_ok();
        };
        tokio::select! {
            () = create => panic!("the held request was answered"),
            () = server.held() => {}
        }
        assert_eq!(server.get::<ConfigMap>("default", &name).is_some(), is_there);
        let late = tokio::time::timeout(Duration::from_secs(60), configs.list(&ListParams::default())).await;
        assert!(late.is_err(), "whatever comes later hangs too");
        server.release();
        configs.list(&ListParams::default()).await.expect("answered again");
    }
}

fn strict() -> Arc<ApiServer> {
    let admission = Admission { node_rules: true, sign_requests: true, service_accounts: true };
    ApiServer::new(Options { admission, ..Options::new(Arc::new(|| Timestamp::UNIX_EPOCH)) })
}

#[tokio::test(start_paused = true)]
async fn a_node_reaches_what_its_pods_draw_from_and_no_more() {
    let server = strict();
    let client = server.client(&Identity::node("n1"));
    let configs: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    server.create(&config("used", "1")).expect("created");
    server.create(&config("other", "1")).expect("created");
    assert_eq!(code(configs.get("used").await), 403);
    let mut user = pod("user");
    let volumes = json!([{ "name": "v", "configMap": { "name": "used" } }]);
    user.spec.as_mut().expect("a spec").volumes = serde_json::from_value(volumes).expect("volumes");
    let user = server.create(&user).expect("created");
    configs.get("used").await.expect("a pod here draws from it");
    configs.get("kube-root-ca.crt").await.expect("its token volume draws from it");
    configs.list(&ListParams::default().fields("metadata.name=used")).await.expect("a list of one");
    assert_eq!(code(configs.get("other").await), 403);
    assert_eq!(code(configs.list(&ListParams::default()).await), 403);
    assert_eq!(code(configs.create(&PostParams::default(), &config("new", "1")).await), 403);

    let pods: Api<Pod> = Api::all(client.clone());
    assert_eq!(code(pods.list(&ListParams::default()).await), 403);
    pods.list(&ListParams::default().fields("spec.nodeName=n1")).await.expect("its own pods");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    assert_eq!(code(pods.create(&PostParams::default(), &pod("plain")).await), 403);
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    assert_eq!(
        code(pods.patch_status("user", &PatchParams::default(), &Patch::Strategic(&labels)).await),
        403
    );

    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let token = |uid: &str| -> TokenRequest {
        serde_json::from_value(json!({ "spec": { "audiences": [], "expirationSeconds": 600,
            "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": "user", "uid": uid } } }))
        .expect("a request")
    };
    let uid = user.metadata.uid.expect("a UID");
    let made = accounts
        .create_token_request("default", &PostParams::default(), &token(&uid))
        .await
        .expect("a token");
    let status = made.status.expect("a status");
    assert_eq!(status.expiration_timestamp.map(|time| time.0.as_second()), Some(600));
    assert_eq!(
        code(accounts.create_token_request("default", &PostParams::default(), &token("other")).await),
        403
    );
    let mut unbound = token(&uid);
    unbound.spec.as_mut().expect("a spec").bound_object_ref = None;
    assert_eq!(code(accounts.create_token_request("default", &PostParams::default(), &unbound).await), 403);
    let reviews: Api<TokenReview> = Api::all(client);
    let review: TokenReview =
        serde_json::from_value(json!({ "spec": { "token": status.token } })).expect("a review");
    let answer =
        reviews.create(&PostParams::default(), &review).await.expect("an answer").status.expect("a status");
    let name = answer.user.and_then(|user| user.username);
    assert_eq!(
        (answer.authenticated, name.as_deref()),
        (Some(true), Some("system:serviceaccount:default:default"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_mirror_pod_needs_its_node_as_its_owner() {
    let server = strict();
    let client = server.client(&Identity::node("n1"));
    let nodes: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": "n1" } })).expect("a node");
    let node = nodes.create(&PostParams::default(), &node).await.expect("its own node");
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let mut mirror = pod("static-n1");
    mirror.metadata.annotations = Some([("kubernetes.io/config.mirror".to_owned(), "x".to_owned())].into());
    assert_eq!(code(pods.create(&PostParams::default(), &mirror).await), 403);
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node.metadata.uid, "controller": true }]);
    mirror.metadata.owner_references = serde_json::from_value(owner).expect("an owner");
    let made = pods.create(&PostParams::default(), &mirror).await.expect("created");
    assert_eq!(made.spec.and_then(|spec| spec.volumes), None, "no token volume for a mirror pod");
    let taints = json!({ "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } });
    assert_eq!(code(nodes.patch("n1", &PatchParams::default(), &Patch::Strategic(&taints)).await), 403);
    let label = |name: &str| json!({ "metadata": { "labels": { name: "x" } } });
    let patch = label("node-role.kubernetes.io/control-plane");
    assert_eq!(code(nodes.patch("n1", &PatchParams::default(), &Patch::Strategic(&patch)).await), 403);
    let patch = label("example.com/fine");
    nodes.patch("n1", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("a label of its own");
}

#[tokio::test]
async fn a_bootstrap_token_becomes_a_certificate_that_is_known_until_it_ends() {
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD;
    let now = Arc::new(Mutex::new(Timestamp::UNIX_EPOCH));
    let clock = {
        let now = now.clone();
        Arc::new(move || *now.lock().expect("no panic"))
    };
    let admission = Admission { sign_requests: true, ..Admission::default() };
    let server = ApiServer::new(Options { admission, ..Options::new(clock) });
    server.add_token("boot", Identity::new("system:bootstrap:abc", &["system:bootstrappers"]));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
    let stop = tokio_util::sync::CancellationToken::new();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(server.clone().serve(listener, Security::Tls, stop.clone()));
    let connect = async |user: Value| {
        let config = Kubeconfig::from_yaml(&server.kubeconfig(&address, &user)).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .expect("a configuration");
        kube::Client::try_from(config).expect("a client")
    };

    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(rcgen::DnType::CommonName, "system:node:n1");
    let request = params.serialize_request(&key).expect("a request").pem().expect("PEM");
    let request: CertificateSigningRequest = serde_json::from_value(json!({
        "metadata": { "generateName": "csr-" },
        "spec": { "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": base64.encode(&request),
            "expirationSeconds": 600, "usages": ["digital signature", "client auth"] },
    }))
    .expect("a signing request");
    let requests: Api<CertificateSigningRequest> = Api::all(connect(json!({ "token": "boot" })).await);
    let made = requests.create(&PostParams::default(), &request).await.expect("created");
    assert_eq!(made.spec.username.as_deref(), Some("system:bootstrap:abc"));
    let done = requests.get(&made.metadata.name.expect("a name")).await.expect("the request");
    let certificate = done.status.and_then(|status| status.certificate).expect("signed at once");

    let user = json!({ "client-certificate-data": base64.encode(certificate.0),
        "client-key-data": base64.encode(key.serialize_pem()) });
    let nodes: Api<Node> = Api::all(connect(user).await);
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": "n1" } })).expect("a node");
    nodes.create(&PostParams::default(), &node).await.expect("created");
    assert_eq!(server.requests().last().expect("a request").user, "system:node:n1");
    *now.lock().expect("no panic") = Timestamp::from_second(601).expect("a time");
    assert_eq!(code(nodes.get("n1").await), 401);
    let anonymous: Api<Node> = Api::all(connect(json!({})).await);
    assert_eq!(code(anonymous.get("n1").await), 401);
    stop.cancel();
    while tasks.join_next().await.is_some() {}
}

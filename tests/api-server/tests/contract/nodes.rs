//! What a node may and may not: the Node authorizer, NodeRestriction, and how a node gets its certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node, Pod, Secret, ServiceAccount};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::support::{
    Clients, NODE, cases, config, configs, created, deleted, of, patched, pod, pods, refused, until,
};

cases![clients:
    a_node_reads_what_its_pods_draw_from_and_nothing_else,
    a_node_writes_no_config,
    a_node_lists_its_own_pods_only since 32,
    a_node_reads_its_own_node_only since 32,
    a_node_writes_its_own_node_only,
    a_node_creates_mirror_pods_only,
    a_node_tells_its_own_pods_statuses_only,
    a_node_deletes_its_own_pods_only,
    a_node_gets_tokens_for_its_own_pods_only,
    a_node_renews_its_own_lease_only,
    a_node_writes_events,
    a_nodes_first_certificate_is_approved_and_signed since 27,
];

const CREATE: PostParams = PostParams { dry_run: false, field_manager: None };
const FORBIDDEN: (u16, &str) = (403, "Forbidden");

fn is_forbidden<T: std::fmt::Debug>(result: Result<T, kube::Error>) {
    let (code, reason) = refused(result);
    assert_eq!((code, reason.as_str()), FORBIDDEN);
}

/// The node itself, made by whichever case is first.
async fn own_node(clients: &Clients) -> Node {
    let nodes: Api<Node> = Api::all(clients.node.clone());
    let wish: Node = of(json!({ "metadata": { "name": NODE } }));
    match nodes.create(&CREATE, &wish).await {
        Ok(node) => node,
        Err(kube::Error::Api(status)) if status.code == 409 => nodes.get(NODE).await.expect("the node"),
        Err(other) => unexpected(&other),
    }
}

#[allow(clippy::panic, reason = "what breaks a case ends it")]
fn unexpected(answer: &dyn std::fmt::Debug) -> ! {
    panic!("there was {answer:?}")
}

/// A pod on a node that draws from config map and secret `NAME`.
fn drawing(name: &str, node: &str) -> Pod {
    of(json!({
        "metadata": { "name": name },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i",
            "env": [{ "name": "A", "valueFrom": { "secretKeyRef": { "name": name, "key": "k" } } }] }],
            "volumes": [{ "name": "v", "configMap": { "name": name } }] },
    }))
}

async fn a_node_reads_what_its_pods_draw_from_and_nothing_else(clients: Clients, namespace: String) {
    let (admin, secrets) =
        (configs(&clients.admin, &namespace), Api::<Secret>::namespaced(clients.admin.clone(), &namespace));
    for name in ["mine", "other"] {
        admin.create(&CREATE, &config(name, "1")).await.expect("created");
        let secret: Secret = of(json!({ "metadata": { "name": name }, "stringData": { "k": "v" } }));
        secrets.create(&CREATE, &secret).await.expect("created");
    }
    let api = pods(&clients.admin, &namespace);
    created(&api, &drawing("mine", NODE)).await;
    created(&api, &drawing("other", "another")).await;
    let maps = configs(&clients.node, &namespace);
    let hidden: Api<Secret> = Api::namespaced(clients.node.clone(), &namespace);
    until("the pod's config map may be read", async || maps.get("mine").await.ok()).await;
    hidden.get("mine").await.expect("its secret, too");
    let one = ListParams::default().fields("metadata.name=mine");
    assert_eq!(maps.list(&one).await.expect("a list of one").items.len(), 1);
    is_forbidden(maps.get("other").await);
    is_forbidden(hidden.get("other").await);
    is_forbidden(maps.list(&ListParams::default()).await);
    is_forbidden(hidden.list(&ListParams::default()).await);
    is_forbidden(hidden.list(&ListParams::default().fields("metadata.name=other")).await);
    deleted(&api, "mine", Some(0), None).await.expect("deleted");
    until("nothing is left of it with the pod", async || maps.get("mine").await.err()).await;
    is_forbidden(hidden.get("mine").await);
}

async fn a_node_writes_no_config(clients: Clients, namespace: String) {
    configs(&clients.admin, &namespace).create(&CREATE, &config("mine", "1")).await.expect("created");
    created(&pods(&clients.admin, &namespace), &drawing("mine", NODE)).await;
    let maps = configs(&clients.node, &namespace);
    until("the pod's config map may be read", async || maps.get("mine").await.ok()).await;
    is_forbidden(maps.create(&CREATE, &config("new", "1")).await);
    is_forbidden(maps.patch("mine", &PatchParams::default(), &Patch::Merge(json!({ "data": {} }))).await);
    is_forbidden(maps.delete("mine", &DeleteParams::default()).await);
}

async fn a_node_lists_its_own_pods_only(clients: Clients, namespace: String) {
    let api = pods(&clients.node, &namespace);
    let of_node = |name: &str| ListParams::default().fields(&format!("spec.nodeName={name}"));
    created(&pods(&clients.admin, &namespace), &pod("a", NODE)).await;
    created(&pods(&clients.admin, &namespace), &pod("b", "another")).await;
    let names: Vec<_> =
        api.list(&of_node(NODE)).await.expect("a list").iter().map(|pod| pod.name_any()).collect();
    assert_eq!(names, ["a"]);
    is_forbidden(api.list(&of_node("another")).await);
    is_forbidden(api.list(&ListParams::default()).await);
    until("its own pod may be read", async || api.get("a").await.ok()).await;
    is_forbidden(api.get("b").await);
}

async fn a_node_reads_its_own_node_only(clients: Clients, _namespace: String) {
    own_node(&clients).await;
    let nodes: Api<Node> = Api::all(clients.node.clone());
    nodes.get(NODE).await.expect("its own");
    is_forbidden(nodes.get("another").await);
    is_forbidden(nodes.list(&ListParams::default()).await);
    let own = nodes.list(&ListParams::default().fields(&format!("metadata.name={NODE}"))).await;
    assert_eq!(own.expect("a list of one").items.len(), 1);
}

async fn a_node_writes_its_own_node_only(clients: Clients, namespace: String) {
    own_node(&clients).await;
    let nodes: Api<Node> = Api::all(clients.node.clone());
    let label = |key: &str| Patch::Strategic(json!({ "metadata": { "labels": { key: "yes" } } }));
    let params = PatchParams::default();
    for key in ["example.com/mine", "node.kubernetes.io/mine", "kubernetes.io/hostname"] {
        nodes.patch(NODE, &params, &label(key)).await.expect("a label that it may give itself");
    }
    for key in ["node-role.kubernetes.io/master", "node-restriction.kubernetes.io/x", "k8s.io/x"] {
        is_forbidden(nodes.patch(NODE, &params, &label(key)).await);
        is_forbidden(nodes.patch_status(NODE, &params, &label(key)).await);
    }
    let taints =
        json!({ "spec": { "taints": [{ "key": "k", "value": namespace, "effect": "NoSchedule" }] } });
    is_forbidden(nodes.patch(NODE, &params, &Patch::Merge(&taints)).await);
    let status = json!({ "status": { "conditions": [{ "type": "example.com/Fine", "status": "True" }] } });
    nodes.patch_status(NODE, &params, &Patch::Strategic(&status)).await.expect("its own status");
    let another: Node = of(json!({ "metadata": { "name": format!("not-{namespace}") } }));
    is_forbidden(nodes.create(&CREATE, &another).await);
    Api::<Node>::all(clients.admin.clone()).create(&CREATE, &another).await.expect("created");
    is_forbidden(nodes.patch_status(&another.name_any(), &params, &Patch::Strategic(&status)).await);
    is_forbidden(nodes.delete(NODE, &DeleteParams::default()).await);
}

/// The mirror of a static pod.
fn mirror(name: &str, owner: &Node) -> Value {
    json!({
        "metadata": { "name": name, "annotations": { "kubernetes.io/config.mirror": "hash" }, "ownerReferences": [{
            "apiVersion": "v1", "kind": "Node", "name": NODE, "uid": owner.metadata.uid, "controller": true }] },
        "spec": { "nodeName": NODE, "containers": [{ "name": "c", "image": "i" }] },
    })
}

async fn a_node_creates_mirror_pods_only(clients: Clients, namespace: String) {
    let node = own_node(&clients).await;
    let api = pods(&clients.node, &namespace);
    is_forbidden(api.create(&CREATE, &pod("plain", NODE)).await);
    let changed = |pointer: &str, value: Value| -> Pod {
        let mut pod = mirror("changed", &node);
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        pod.pointer_mut(parent).expect("a field of mirrors")[key] = value;
        of(pod)
    };
    let other_uid =
        json!([{ "apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "another", "controller": true }]);
    for (pointer, value) in [
        ("/spec/nodeName", json!("another")),
        ("/spec/serviceAccountName", json!("default")),
        ("/spec/volumes", json!([{ "name": "v", "secret": { "secretName": "s" } }])),
        ("/spec/volumes", json!([{ "name": "v", "configMap": { "name": "s" } }])),
        ("/metadata/ownerReferences", json!([])),
        ("/metadata/ownerReferences", other_uid),
    ] {
        is_forbidden(api.create(&CREATE, &changed(pointer, value)).await);
    }
    let made = created(&api, &of(mirror("mirror", &node))).await;
    let annotations = made.metadata.annotations.unwrap_or_default();
    assert_eq!(annotations.get("kubernetes.io/config.mirror").map(String::as_str), Some("hash"));
    deleted(&api, "mirror", Some(0), made.metadata.uid.as_deref()).await.expect("deleted");
}

async fn a_node_tells_its_own_pods_statuses_only(clients: Clients, namespace: String) {
    own_node(&clients).await;
    let (admin, api) = (pods(&clients.admin, &namespace), pods(&clients.node, &namespace));
    created(&admin, &pod("a", NODE)).await;
    created(&admin, &pod("b", "another")).await;
    let running = json!({ "status": { "phase": "Running" } });
    patched(&api, "a", running.clone()).await.expect("patched");
    is_forbidden(patched(&api, "b", running).await);
    is_forbidden(patched(&api, "a", json!({ "metadata": { "labels": { "new": "yes" } } })).await);
    let spec = json!({ "spec": { "activeDeadlineSeconds": 5 } });
    is_forbidden(api.patch("a", &PatchParams::default(), &Patch::Merge(&spec)).await);
    assert_eq!(refused(patched(&api, "gone", json!({ "status": { "phase": "Running" } })).await).0, 404);
}

async fn a_node_deletes_its_own_pods_only(clients: Clients, namespace: String) {
    let (admin, api) = (pods(&clients.admin, &namespace), pods(&clients.node, &namespace));
    let mine = created(&admin, &pod("a", NODE)).await;
    created(&admin, &pod("b", "another")).await;
    deleted(&admin, "a", None, None).await.expect("marked");
    is_forbidden(deleted(&api, "b", Some(0), None).await);
    assert_eq!(refused(deleted(&api, "a", Some(0), Some("another")).await), (409, "Conflict".to_owned()));
    deleted(&api, "a", Some(0), mine.metadata.uid.as_deref()).await.expect("deleted");
    assert_eq!(refused(deleted(&api, "a", Some(0), None).await).0, 404);
    assert_eq!(refused(admin.get("a").await).0, 404);
}

async fn a_node_gets_tokens_for_its_own_pods_only(clients: Clients, namespace: String) {
    let accounts: Api<ServiceAccount> = Api::namespaced(clients.admin.clone(), &namespace);
    let mut made = Vec::new();
    for (name, node) in [("mine", NODE), ("other", "another")] {
        let wish: ServiceAccount = of(json!({ "metadata": { "name": name } }));
        accounts.create(&CREATE, &wish).await.expect("created");
        let mut wish = pod(name, node);
        if let Some(spec) = &mut wish.spec {
            spec.service_account_name = Some(name.to_owned());
            let token = json!({ "serviceAccountToken": { "path": "token" } });
            spec.volumes = Some(of(json!([{ "name": "token", "projected": { "sources": [token] } }])));
        }
        made.push(created(&pods(&clients.admin, &namespace), &wish).await);
    }
    let own: Api<ServiceAccount> = Api::namespaced(clients.node.clone(), &namespace);
    let request_for = |pod: &Pod, audiences: Value| -> TokenRequest {
        let bound = json!({ "kind": "Pod", "apiVersion": "v1", "name": pod.name_any(), "uid": pod.uid() });
        of(json!({ "spec": { "audiences": audiences, "expirationSeconds": 3607, "boundObjectRef": bound } }))
    };
    let request = |pod: &Pod| request_for(pod, json!([]));
    let [mine, other] = made.as_slice() else { unexpected(&made) };
    let token = until("a token for the account of its pod", async || {
        own.create_token_request("mine", &CREATE, &request(mine)).await.ok()
    });
    assert!(token.await.status.and_then(|status| status.token).is_some());
    let unbound: TokenRequest = of(json!({ "spec": { "audiences": [], "expirationSeconds": 3607 } }));
    is_forbidden(own.create_token_request("mine", &CREATE, &unbound).await);
    let elsewhere = request_for(mine, json!(["elsewhere"]));
    is_forbidden(own.create_token_request("mine", &CREATE, &elsewhere).await);
    is_forbidden(own.create_token_request("other", &CREATE, &request(other)).await);
    is_forbidden(own.create_token_request("mine", &CREATE, &request(other)).await);
    // One whose place another of its name took: no conflict for a node, but a refusal.
    let mut former = mine.clone();
    former.metadata.uid = Some("former".to_owned());
    is_forbidden(own.create_token_request("mine", &CREATE, &request(&former)).await);
}

async fn a_node_renews_its_own_lease_only(clients: Clients, namespace: String) {
    let leases: Api<Lease> = Api::namespaced(clients.node.clone(), "kube-node-lease");
    let lease = |name: &str| -> Lease {
        of(
            json!({ "metadata": { "name": name }, "spec": { "holderIdentity": name, "leaseDurationSeconds": 40 } }),
        )
    };
    let mut made =
        until("the namespace of leases", async || leases.create(&CREATE, &lease(NODE)).await.ok()).await;
    if let Some(spec) = &mut made.spec {
        spec.lease_duration_seconds = Some(50);
    }
    leases.replace(NODE, &CREATE, &made).await.expect("renewed");
    leases.get(NODE).await.expect("its own");
    is_forbidden(leases.create(&CREATE, &lease("another")).await);
    is_forbidden(leases.get("another").await);
    is_forbidden(leases.list(&ListParams::default()).await);
    let elsewhere: Api<Lease> = Api::namespaced(clients.node.clone(), &namespace);
    is_forbidden(elsewhere.create(&CREATE, &lease(NODE)).await);
    leases.delete(NODE, &DeleteParams::default()).await.expect("deleted");
}

async fn a_node_writes_events(clients: Clients, namespace: String) {
    let events: Api<Event> = Api::namespaced(clients.node.clone(), &namespace);
    let event: Event = of(json!({
        "metadata": { "name": "a" }, "reason": "Started", "type": "Normal", "count": 1, "source": { "component": "kubelet", "host": NODE },
        "involvedObject": { "kind": "Pod", "namespace": namespace, "name": "a", "fieldPath": "spec.containers{c}" },
    }));
    events.create(&CREATE, &event).await.expect("created");
    let again = Patch::Strategic(json!({ "count": 2 }));
    let counted = events.patch("a", &PatchParams::default(), &again).await.expect("patched");
    assert_eq!(counted.count, Some(2));
    is_forbidden(events.list(&ListParams::default()).await);
    is_forbidden(events.delete("a", &DeleteParams::default()).await);
}

fn signing_request(name: &str, node: &str, group: &str) -> CertificateSigningRequest {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name.push(DnType::OrganizationName, group);
    params.distinguished_name.push(DnType::CommonName, format!("system:node:{node}"));
    let key = KeyPair::generate().expect("a key can be made");
    let pem =
        params.serialize_request(&key).and_then(|request| request.pem()).expect("a request of constants");
    of(json!({
        "metadata": { "name": name },
        "spec": { "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": STANDARD.encode(pem),
            "usages": ["digital signature", "client auth"] },
    }))
}

async fn a_nodes_first_certificate_is_approved_and_signed(clients: Clients, namespace: String) {
    let requests: Api<CertificateSigningRequest> = Api::all(clients.bootstrap.clone());
    let name = format!("node-csr-{namespace}");
    let made =
        requests.create(&CREATE, &signing_request(&name, &namespace, "system:nodes")).await.expect("created");
    let spec = serde_json::to_value(&made.spec).expect("a spec is JSON");
    assert_eq!(spec["username"], "system:bootstrap:abcdef");
    assert_eq!(
        refused(requests.create(&CREATE, &signing_request(&name, &namespace, "system:nodes")).await).0,
        409
    );
    // Joining nodes may not read pods.
    is_forbidden(pods(&clients.bootstrap, &namespace).list(&ListParams::default()).await);
    if !clients.signs {
        return;
    }
    let signed = until("an approved and signed request", async || {
        let status = requests.get(&name).await.expect("its own request").status?;
        let approved = status.conditions.iter().flatten().any(|condition| condition.type_ == "Approved");
        status.certificate.filter(|_| approved)
    });
    assert!(signed.await.0.starts_with(b"-----BEGIN CERTIFICATE-----"));
}

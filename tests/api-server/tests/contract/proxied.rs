//! What an API server asks a node for, and what becomes of the node's answers.

use http::Request;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams};
use serde_json::Value;

use crate::node::NodeEndpoint;
use crate::support::{cases, created, pod, pods};

cases![
    logs_are_asked_for_by_container_and_pass,
    a_nodes_refusal_of_logs_is_reported_as_a_status,
    streams_are_asked_for_in_the_nodes_words,
    any_path_of_a_node_passes_with_its_answer,
    a_container_is_chosen_before_a_node_is_asked,
];

/// A node with its endpoint, and a pod of this name on it.
async fn on_node(client: &Client, namespace: &str, names: &[&str]) -> NodeEndpoint {
    let node = NodeEndpoint::start(client, &format!("node-of-{namespace}")).await;
    for name in names {
        created(&pods(client, namespace), &pod(name, &node.name)).await;
    }
    node
}

async fn gone(client: &Client, node: &NodeEndpoint) {
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.delete(&node.name, &DeleteParams::default()).await.expect("deleted");
}

async fn get(client: &Client, path: String) -> Result<String, kube::Error> {
    client.request_text(Request::get(path).body(Vec::new()).expect("a request")).await
}

/// A real server passes no request of `nodes/proxy` on to the machine that it runs on.
fn is_loopback_refused(answer: &Result<String, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 400 && status.message.contains("address not allowed"))
}

async fn logs_are_asked_for_by_container_and_pass(client: Client, namespace: String) {
    let node = on_node(&client, &namespace, &["a"]).await;
    let path = format!("/api/v1/namespaces/{namespace}/pods/a/log");
    assert_eq!(get(&client, path.clone()).await.expect("the log"), "a line\n");
    assert_eq!(node.last().uri, format!("/containerLogs/{namespace}/a/c"));
    let query =
        "container=c&follow=true&limitBytes=9&previous=true&sinceSeconds=5&tailLines=3&timestamps=true";
    get(&client, format!("{path}?{query}")).await.expect("the log");
    let asked = node.last();
    assert_eq!(asked.method, "GET");
    let kept = "follow=true&limitBytes=9&previous=true&sinceSeconds=5&tailLines=3&timestamps=true";
    assert_eq!(asked.uri, format!("/containerLogs/{namespace}/a/c?{kept}"));
    assert!(!asked.headers.contains_key("authorization"), "whose request it was is the API server's matter");
    gone(&client, &node).await;
}

async fn a_nodes_refusal_of_logs_is_reported_as_a_status(client: Client, namespace: String) {
    let node = on_node(&client, &namespace, &["refused", "missing", "broken", "forbidden", "busy"]).await;
    for (name, code, reason, message) in [
        (
            "refused",
            400,
            "BadRequest",
            "container \"c\" in pod \"refused\" is waiting to start: ContainerCreating",
        ),
        ("missing", 404, "NotFound", "the server could not find the requested resource ( pods/log missing)"),
        ("broken", 500, "InternalError", "Internal error occurred: the runtime is away"),
        ("forbidden", 403, "Forbidden", "Forbidden (user=alice) ( pods/log forbidden)"),
        (
            "busy",
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request ( pods/log busy)",
        ),
    ] {
        let answer = get(&client, format!("/api/v1/namespaces/{namespace}/pods/{name}/log")).await;
        let Err(kube::Error::Api(status)) = answer else {
            unexpected(&answer);
        };
        assert_eq!((status.code, &*status.reason, &*status.message), (code, reason, message), "{name}");
    }
    gone(&client, &node).await;
}

#[allow(clippy::panic, reason = "what breaks a case ends it")]
fn unexpected(answer: &dyn std::fmt::Debug) -> ! {
    panic!("the server should have reported the node's refusal, and there was {answer:?}")
}

async fn streams_are_asked_for_in_the_nodes_words(client: Client, namespace: String) {
    let node = on_node(&client, &namespace, &["a"]).await;
    for (subresource, query, expected) in [
        (
            "exec",
            "?command=sh&command=-c&command=echo+a%26b&container=c&stdin=true&stdout=true&stderr=true",
            "/exec/NS/a/c?command=sh&command=-c&command=echo+a%26b&error=1&input=1&output=1",
        ),
        (
            "exec",
            "?command=sh&stdin=true&stdout=true&tty=true",
            "/exec/NS/a/c?command=sh&input=1&output=1&tty=1",
        ),
        ("attach", "?container=c&stdout=true&stderr=true", "/attach/NS/a/c?error=1&output=1"),
        ("portforward", "", "/portForward/NS/a"),
        ("portforward", "?ports=80", "/portForward/NS/a?port=80"),
    ] {
        let request = Request::get(format!("/api/v1/namespaces/{namespace}/pods/a/{subresource}{query}"))
            .header("connection", "Upgrade")
            .header("upgrade", "SPDY/3.1")
            .header("x-stream-protocol-version", "v4.channel.k8s.io");
        let before = node.seen().len();
        // This node upgrades nothing.
        let _ = client.request_text(request.body(Vec::new()).expect("a request")).await;
        assert_eq!(node.seen().len(), before + 1, "{subresource}{query}");
        let asked = node.last();
        assert_eq!(asked.uri, expected.replace("NS", &namespace), "{subresource}{query}");
        assert_eq!(asked.method, "GET");
        assert_eq!(asked.headers.get("upgrade").map(http::HeaderValue::as_bytes), Some(&b"SPDY/3.1"[..]));
        let versions = asked.headers.get("x-stream-protocol-version").map(http::HeaderValue::as_bytes);
        assert_eq!(versions, Some(&b"v4.channel.k8s.io"[..]));
    }
    gone(&client, &node).await;
}

async fn any_path_of_a_node_passes_with_its_answer(client: Client, namespace: String) {
    let node = on_node(&client, &namespace, &[]).await;
    let path = |rest: &str| format!("/api/v1/nodes/{}/proxy/{rest}", node.name);
    let first = get(&client, path("pods")).await;
    if is_loopback_refused(&first) {
        eprintln!(
            "any_path_of_a_node_passes_with_its_answer: ends here, for this server asks no node on a loopback address"
        );
        return gone(&client, &node).await;
    }
    assert_eq!(first.expect("an answer"), "a line\n");
    assert_eq!(node.last().uri, "/pods");
    get(&client, path("logs/?query=kubelet&since=1")).await.expect("an answer");
    assert_eq!(node.last().uri, "/logs/?query=kubelet&since=1");
    let request = Request::post(path(&format!("run/{namespace}/a/c?cmd=ls"))).body(Vec::new());
    assert_eq!(client.request_text(request.expect("a request")).await.expect("an answer"), "a line\n");
    assert_eq!((&*node.last().method, &*node.last().uri), ("POST", &*format!("/run/{namespace}/a/c?cmd=ls")));
    let refused = get(&client, path("containerLogs/x/missing/c")).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 404), "{refused:?}");
    gone(&client, &node).await;
}

async fn a_container_is_chosen_before_a_node_is_asked(client: Client, namespace: String) {
    let node = on_node(&client, &namespace, &["a"]).await;
    let api = pods(&client, &namespace);
    let mut two = pod("two", &node.name);
    if let Some(spec) = &mut two.spec {
        let mut second = spec.containers.first().cloned().unwrap_or_default();
        second.name = "d".to_owned();
        spec.containers.push(second);
    }
    created(&api, &two).await;
    created(&api, &pod("waiting", "")).await;
    for (path, expected) in [
        ("two/log", "a container name must be specified for pod two, choose one of: [c d]"),
        ("a/log?container=x", "container x is not valid for pod a"),
    ] {
        let answer = get(&client, format!("/api/v1/namespaces/{namespace}/pods/{path}")).await;
        let Err(kube::Error::Api(status)) = answer else {
            unexpected(&answer);
        };
        assert_eq!((status.code, &*status.message), (400, expected));
    }
    // Nothing is logged where nothing can run yet: an empty answer, and no error.
    assert_eq!(
        get(&client, format!("/api/v1/namespaces/{namespace}/pods/waiting/log")).await.expect("nothing"),
        ""
    );
    let answer: Result<Value, _> = client
        .request(
            Request::get(format!("/api/v1/namespaces/{namespace}/pods/waiting/exec?command=ls&stdout=true"))
                .body(Vec::new())
                .expect("a request"),
        )
        .await;
    assert!(matches!(&answer, Err(kube::Error::Api(status)) if status.code == 400), "{answer:?}");
    assert!(node.seen().is_empty(), "{:?}", node.seen());
    gone(&client, &node).await;
}

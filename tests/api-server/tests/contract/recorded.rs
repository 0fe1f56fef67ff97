//! What a real API server was seen to ask a node for, when kubectl asked it: any other asks the same.

use std::collections::BTreeMap;

use http::{HeaderMap, Request, StatusCode};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams};
use kube::client::Body;
use serde::Deserialize;

use crate::node::NodeEndpoint;
use crate::support::{cases, created, pod, pods, until};

cases![a_node_is_asked_as_it_was_recorded];

/// Recorded between kubectl and kube-apiserver, and between kube-apiserver and a node.
const RECORDED: &str = include_str!("../../recorded/kube-apiserver-1.20.2.json");

/// Headers that decide what a connection becomes. The others are the connection's own, or tell who asked.
const OF_UPGRADES: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "x-stream-protocol-version",
];

/// Minor version of the first server that makes SPDY of kubectl's WebSockets, those of exec and attach and those of port-forward.
const TRANSLATED_SINCE: u32 = 31;

#[derive(Deserialize)]
struct Recording {
    namespace: String,
    pod: String,
    node: String,
    requests: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    command: String,
    client: RecordedRequest,
    node: RecordedRequest,
}

#[derive(Deserialize)]
struct RecordedRequest {
    method: String,
    target: String,
    headers: BTreeMap<String, Vec<String>>,
}

/// What this exchange's node is asked since [`TRANSLATED_SINCE`]: for a WebSocket, what it was asked when kubectl asked for the same by SPDY.
fn today<'a>(exchange: &'a Exchange, all: &'a [Exchange]) -> &'a RecordedRequest {
    let is_websocket = |asked: &RecordedRequest| asked.headers.contains_key("sec-websocket-protocol");
    if !is_websocket(&exchange.client) {
        return &exchange.node;
    }
    let same = |other: &&Exchange| other.command == exchange.command && !is_websocket(&other.client);
    &all.iter().find(same).expect("kubectl fell back to SPDY").node
}

/// Path, and the query's parameters in order.
fn parts(target: &str) -> (&str, Vec<&str>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parameters: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    // Those of one name keep their order: a command's words.
    parameters.sort_by_key(|part| part.split('=').next());
    (path, parameters)
}

fn of_upgrade(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let values = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into()).collect()
    };
    OF_UPGRADES
        .iter()
        .map(|name| ((*name).to_owned(), values(name)))
        .filter(|(_, all)| !all.is_empty())
        .collect()
}

async fn a_node_is_asked_as_it_was_recorded(client: Client, namespace: String) {
    let recording: Recording = serde_json::from_str(RECORDED).expect("the recording as it was written");
    assert!(!recording.requests.is_empty());
    let node = NodeEndpoint::start(&client, &format!("node-of-{namespace}")).await;
    created(&pods(&client, &namespace), &pod(&recording.pod, &node.name)).await;
    let here = |target: &str| {
        target
            .replace(&format!("/namespaces/{}/", recording.namespace), &format!("/namespaces/{namespace}/"))
            .replace(&format!("/nodes/{}/", recording.node), &format!("/nodes/{}/", node.name))
    };
    let version = client.apiserver_version().await.expect("a version");
    let translates =
        version.minor.trim_end_matches('+').parse().is_ok_and(|minor: u32| minor >= TRANSLATED_SINCE);
    for exchange in &recording.requests {
        let Exchange { command, client: asked, .. } = exchange;
        let expected = if translates { today(exchange, &recording.requests) } else { &exchange.node };
        let mut request = Request::builder().method(&*asked.method).uri(here(&asked.target));
        for (name, values) in asked.headers.iter().filter(|(name, _)| *name != "content-length") {
            for value in values {
                request = request.header(name, value);
            }
        }
        let before = node.seen().len();
        // This node upgrades nothing, which is no success for who wants that. The answer is held while the server asks the node: it
        // doesn't ask for a client that has closed its connection.
        let answer = client.send(request.body(Body::empty()).expect("a recorded request")).await;
        let status = answer.as_ref().map(http::Response::status).map_err(ToString::to_string);
        if status == Ok(StatusCode::BAD_REQUEST) && asked.target.contains("/proxy/") {
            eprintln!(
                "a_node_is_asked_as_it_was_recorded: left out {command}, for this server asks no node on a loopback address"
            );
            continue;
        }
        // Who asks by a WebSocket has their connection before the node is asked.
        let what = format!("{command} reaches the node; the server says {status:?}");
        until(&what, async || (node.seen().len() > before).then_some(())).await;
        assert_eq!(node.seen().len(), before + 1, "{command}");
        let found = node.last();
        let target = expected.target.replacen(
            &format!("/{}/{}", recording.namespace, recording.pod),
            &format!("/{namespace}/{}", recording.pod),
            1,
        );
        assert_eq!((&found.method, parts(&found.uri)), (&expected.method, parts(&target)), "{command}");
        let mut desired = expected.headers.clone();
        desired.retain(|name, _| OF_UPGRADES.contains(&&**name));
        assert_eq!(of_upgrade(&found.headers), desired, "{command}");
    }
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.delete(&node.name, &DeleteParams::default()).await.expect("deleted");
}

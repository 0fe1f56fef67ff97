//! Data that come from servers: fetched, served while these are gone, kept, and what is said when they can't be had.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use witlet_core::admission::Decision;
use witlet_ports::{Artifact, ArtifactError, ArtifactFetcher, Target};
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::feeding::{ready, reported, reported_with, setting};
use crate::node::{Node, Setting, configuration, pod_in};
use crate::servers::{Server, answer};

claims!(
    a_handler_reads_data_of_a_url_and_newer_ones_once_they_are_fetched,
    data_of_a_server_that_is_gone_are_those_of_before_also_over_a_restart,
    a_plugin_whose_data_were_never_fetched_has_failed_and_says_why,
    a_handler_reads_data_of_an_artifact,
    data_with_another_digest_than_the_entry_s_are_refused,
);

/// An entry of the guest with data from there.
fn entries(source: &str) -> String {
    format!(
        "- {{name: reader, component: v0-2.wasm, admission: {{match: {{namespaces: [reader]}}}}, \
         limits: {{timeout: 10s}}, grants: {{secrets: [none]}}, config: {{do: tell-data}}, \
         data: [{{name: list, {source}}}, {{name: empty, file: empty}}]}}\nsecrets: [{{name: none, file: none}}]\n"
    )
}

const FILES: &[(&str, &str)] = &[("empty", "")];

async fn start(source: &str, setting: Setting) -> Node {
    ready(Node::begin(&entries(source), setting).await.expect("the host starts")).await
}

/// A server with a list that a test may change.
async fn lists(first: &str) -> (Server, Arc<Mutex<String>>) {
    let list = Arc::new(Mutex::new(first.to_owned()));
    let served = list.clone();
    let server = Server::http(move |_| {
        let list = served.lock().expect("not poisoned").clone();
        if list.is_empty() {
            answer("503 Service Unavailable", &[], "")
        } else {
            answer("200 OK", &[], &list)
        }
    })
    .await;
    (server, list)
}

fn url(server: &Server) -> String {
    format!("url: 'http://{}/list'", server.address)
}

/// Why the data aren't the newest.
fn problem(node: &Node) -> Option<String> {
    node.status("reader").data.into_iter().find_map(|data| data.problem)
}

async fn a_handler_reads_data_of_a_url_and_newer_ones_once_they_are_fetched() {
    let (server, list) = lists("one").await;
    let node = start(&url(&server), setting(FILES)).await;
    assert_eq!(reported(&node).await["list"][2], "one");
    let data = node.status("reader").data;
    let fetched = data.iter().find(|data| data.name == "list").expect("it has them");
    assert_eq!(fetched.source, format!("http://{}/list", server.address));
    assert!(fetched.age_seconds.is_some() && !fetched.too_old, "{fetched:?}");
    *list.lock().expect("not poisoned") = "two".to_owned();
    // Another interval begins now.
    node.configure(&configuration(&entries(&format!("{}, refresh: 1h", url(&server)))));
    reported_with(&node, "two").await;
}

async fn data_of_a_server_that_is_gone_are_those_of_before_also_over_a_restart() {
    let (server, list) = lists("one").await;
    let node = start(&url(&server), setting(FILES)).await;
    assert_eq!(reported(&node).await["list"][2], "one");
    list.lock().expect("not poisoned").clear();
    node.configure(&configuration(&entries(&format!("{}, refresh: 1h", url(&server)))));
    node.until("it is missed", |node| problem(node).is_some()).await;
    assert_eq!(reported(&node).await["list"][2], "one");
    let problems = node.host.problems();
    assert!(!problems.iter().any(|text| text.contains("data")), "{problems:?}");
    let reasons = node.events.reasons();
    assert!(reasons.iter().any(|reason| reason == "PluginDataNotRead"), "{reasons:?}");
    let Node { folder, host, .. } = node;
    drop(host);
    let node = ready(Node::in_folder(folder, setting(&[])).await.expect("the host starts")).await;
    assert_eq!(reported(&node).await["list"][2], "one", "the copy that was kept");
    node.until("it is missed again", |node| problem(node).is_some()).await;
    *list.lock().expect("not poisoned") = "two".to_owned();
    node.configure(&configuration(&entries(&format!("{}, refresh: 2h", url(&server)))));
    reported_with(&node, "two").await;
    assert_eq!(problem(&node), None);
}

async fn a_plugin_whose_data_were_never_fetched_has_failed_and_says_why() {
    let (server, list) = lists("").await;
    let node = start(&url(&server), setting(FILES)).await;
    let status = node.status("reader");
    assert_eq!(status.state, PluginState::Failed);
    let detail = status.detail.unwrap_or_default();
    let expected = format!(
        "failed to read data \"list\": fetch http://{}/list: the server answered 503 Service Unavailable",
        server.address
    );
    assert_eq!(detail, expected);
    let waits = node.admit(pod_in("reader", "web")).await;
    assert!(matches!(waits, Decision::Defer { .. }), "by its failure policy: {waits:?}");
    *list.lock().expect("not poisoned") = "one".to_owned();
    node.configure(&configuration(&entries(&format!("{}, refresh: 1h", url(&server)))));
    node.until("it is loaded", |node| node.status("reader").state == PluginState::Ready).await;
    assert_eq!(reported(&node).await["list"][2], "one");
}

/// Has one artifact.
struct OneArtifact;

#[async_trait]
impl ArtifactFetcher for OneArtifact {
    async fn artifact(
        &self,
        _target: &Target,
        _credentials: Option<&std::path::Path>,
        _known: Option<&str>,
        _bytes_max: u64,
    ) -> Result<Artifact, ArtifactError> {
        Ok(Artifact { digest: "sha256:m1".to_owned(), bytes: Some(b"one".to_vec()) })
    }
}

async fn a_handler_reads_data_of_an_artifact() {
    let setting = Setting { artifacts: Some(Arc::new(OneArtifact)), ..setting(FILES) };
    let node = start("oci: 'oci://registry.example.com/lists:1'", setting).await;
    assert_eq!(reported(&node).await["list"][2], "one");
}

async fn data_with_another_digest_than_the_entry_s_are_refused() {
    let (server, _list) = lists("one").await;
    let pinned = format!("{}, sha256: {}", url(&server), "0".repeat(64));
    let node = start(&pinned, setting(FILES)).await;
    let detail = node.status("reader").detail.unwrap_or_default();
    assert!(detail.contains("sha256 must be that of the entry, found 7692c3ad3540"), "{detail}");
}

//! Probe types of contract 0.2 on a node, next to those of 0.1.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use witlet_core::probe::ProbeOutcome;
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_ports::{CommandRunner, ProbeError, RuntimeError};
use witlet_wasm::plugin::PluginState;

use crate::admission_v0_2::secrets;
use crate::claims;
use crate::networks::{OwnNetwork, TlsFiles};
use crate::node::{Node, Setting, cache, compiler};
use crate::probing::probe;

claims!(
    a_probe_type_of_0_2_is_asked_next_to_one_of_0_1,
    a_probe_type_of_0_2_warns_of_its_configuration,
    what_a_probe_type_of_0_2_is_not_granted_is_named,
    a_probe_type_speaks_tls_by_the_authorities_and_the_certificate_of_its_grants,
    a_loopback_interface_is_reached_only_with_its_grant_and_a_network_of_the_pods_own,
);

/// A runtime whose containers have this process.
struct Process(Option<u32>);

#[async_trait]
impl CommandRunner for Process {
    async fn exec_sync(
        &self,
        _id: &ContainerId,
        _command: &[String],
        _timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        Err(RuntimeError::NotFound { call: "ExecSync", message: "it runs no commands".to_owned() })
    }

    async fn process(&self, _id: &ContainerId) -> Result<Option<u32>, RuntimeError> {
        Ok(self.0)
    }
}

/// A node with these entries of a guest of 0.2 and one of 0.1, once each was tried, and the folder of its secret.
async fn node(entries: &str) -> (Node, TempDir) {
    node_with(entries, "", None).await
}

/// The same with these secrets more, and containers whose process this is.
async fn node_with(entries: &str, more: &str, process: Option<u32>) -> (Node, TempDir) {
    let old = "- {name: old, component: prober.wasm, probe: {}, grants: {secrets: [granted], exec: true}}\n";
    let (folder, secrets) = secrets();
    let files = vec![
        ("v0-2.wasm", witlet_test_guests::PROBE_V0_2.to_vec()),
        ("prober.wasm", witlet_test_guests::PROBER.to_vec()),
    ];
    let containers = Some(Arc::new(Process(process)) as Arc<dyn CommandRunner>);
    let setting = Setting { files, containers, ..Setting::new(compiler(cache())) };
    let node =
        Node::begin(&format!("{entries}{old}{secrets}{more}"), setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    (node, folder)
}

/// An entry with the guest and this configuration.
fn entry(name: &str, config: &str) -> String {
    format!(
        "- {{name: {name}, component: v0-2.wasm, probe: {{}}, config: {config}, \
         grants: {{secrets: [granted], exec: true}}}}\n"
    )
}

async fn a_probe_type_of_0_2_is_asked_next_to_one_of_0_1() {
    let (node, _secrets) = node(&entry("new", "null")).await;
    let success = |text: &str| Ok(ProbeOutcome::Success(text.to_owned()));
    assert_eq!(probe(&node, "old", r#"{"do": "succeed", "text": "old"}"#).await, success("old"));
    assert_eq!(probe(&node, "new", r#"{"do": "success", "text": "new"}"#).await, success("new"));
    let warned = probe(&node, "new", r#"{"do": "warned"}"#).await;
    assert_eq!(warned, Ok(ProbeOutcome::Warning("it is old; fine".to_owned())));
    let unknown = probe(&node, "new", r#"{"do": "unknown", "text": "who knows"}"#).await;
    assert_eq!(unknown, Err(ProbeError::NotCarriedOut { message: "who knows".to_owned() }));
    let words = "NoTable: the table can't be read (rows: 7)".to_owned();
    assert_eq!(probe(&node, "new", r#"{"do": ""}"#).await, Err(ProbeError::Parameters { words }));
    match probe(&node, "new", r#"{"do": "nothing"}"#).await {
        Err(ProbeError::NotCarriedOut { message }) => {
            assert!(message.contains("an answer is one of success, failure, unknown"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    for (name, version) in [("old", "0.1.0"), ("new", "0.2.0")] {
        let status = node.status(name);
        let versions: Vec<_> = status.roles.iter().map(|role| role.version).collect();
        assert_eq!((status.state, versions), (PluginState::Ready, vec![Some(version)]), "{name}");
    }
}

async fn a_probe_type_of_0_2_warns_of_its_configuration() {
    let (node, _secrets) = node(&(entry("warns", "{do: warn}") + &entry("refuses", "{do: refuse}"))).await;
    assert_eq!(node.status("warns").warnings.len(), 16);
    let warned = |name: &str| node.status(name).state;
    assert_eq!((warned("warns"), warned("refuses")), (PluginState::Ready, PluginState::Failed));
    assert_eq!(node.events.reasons().iter().filter(|reason| *reason == "PluginWarning").count(), 16);
    let refused = node.status("refuses").detail.unwrap_or_default();
    assert!(refused.contains("NoTable: the table can't be read (rows: 7)"), "{refused}");
}

async fn what_a_probe_type_of_0_2_is_not_granted_is_named() {
    let (node, _secrets) = node("- {name: bare, component: v0-2.wasm, probe: {}}\n").await;
    let detail = node.status("bare").detail.unwrap_or_default();
    for import in ["witlet:host/secret@0.2.0", "witlet:probe/exec@0.2.0"] {
        assert!(detail.contains(import), "{detail}");
    }
}

async fn a_probe_type_speaks_tls_by_the_authorities_and_the_certificate_of_its_grants() {
    let files = TlsFiles::new();
    let server = files.echo().await;
    let entry = |name: &str, more: &str| {
        format!(
            "- {{name: {name}, component: v0-2.wasm, probe: {{}}, \
             grants: {{network: [pod], secrets: [granted], exec: true{more}}}}}\n"
        )
    };
    let entries = entry("granted", ", tlsAuthorities: [ca], tlsClientCertificate: client")
        + &entry("unknown", ", tlsAuthorities: [ca]")
        + &entry("untrusting", ", tlsClientCertificate: client");
    let (node, _secrets) = node_with(&entries, &files.secrets(), None).await;
    let port = server.port();
    let talk = format!(
        r#"{{"do": "talk", "host": "127.0.0.1", "port": {port}, "tls": "127.0.0.1", "text": "hello"}}"#
    );
    let granted = probe(&node, "granted", &talk).await;
    assert_eq!(granted, Ok(ProbeOutcome::Success("1|hello".to_owned())));
    match probe(&node, "unknown", &talk).await {
        Ok(ProbeOutcome::Failure(_)) => {}
        other => panic!("it shows no certificate: {other:?}"),
    }
    match probe(&node, "untrusting", &talk).await {
        Ok(ProbeOutcome::Failure(words)) => assert!(words.starts_with("CertificateInvalid: "), "{words}"),
        other => panic!("no one vouches for the server: {other:?}"),
    }
    let elsewhere = probe(&node, "granted", r#"{"do": "talk", "host": "192.0.2.1", "port": 1}"#).await;
    let words = "NotGranted: dial tcp 192.0.2.1:1: not granted".to_owned();
    assert_eq!(elsewhere, Ok(ProbeOutcome::Failure(words)));
    // A connection is of its own probe alone.
    let keep = format!(r#"{{"do": "keep-connection", "host": "127.0.0.1", "port": {port}}}"#);
    assert_eq!(probe(&node, "granted", &keep).await, Ok(ProbeOutcome::Success("kept".to_owned())));
    let later = probe(&node, "granted", r#"{"do": "use-connection"}"#).await;
    assert_eq!(later, Ok(ProbeOutcome::Success("nothing is kept".to_owned())), "its instance is gone");
}

const LOOPBACK: &str = r#"
- {name: granted, component: v0-2.wasm, probe: {}, grants: {network: [pod-loopback], secrets: [granted], exec: true}}
- {name: outside, component: v0-2.wasm, probe: {}, grants: {network: [pod], secrets: [granted], exec: true}}
"#;

/// Says something to a port of the pod.
fn talk(port: u16) -> String {
    format!(r#"{{"do": "talk", "port": {port}, "text": "hello"}}"#)
}

/// In which words a probe fails.
async fn failure(node: &Node, name: &str, port: u16) -> String {
    match probe(node, name, &talk(port)).await {
        Ok(ProbeOutcome::Failure(words)) => words,
        other => panic!("{other:?}"),
    }
}

async fn a_loopback_interface_is_reached_only_with_its_grant_and_a_network_of_the_pods_own() {
    // The process of a container in the node's network.
    let (node, _secrets) = node_with(LOOPBACK, "", Some(std::process::id())).await;
    let words = failure(&node, "granted", 1).await;
    assert!(words.starts_with("NoNetwork: the pod is in the network of the host"), "{words}");
    let words = failure(&node, "outside", 1).await;
    assert!(words.starts_with("NotGranted: "), "{words}");
    let (unknown, _secrets) = node_with(LOOPBACK, "", None).await;
    let words = failure(&unknown, "granted", 1).await;
    assert!(words.starts_with("NoNetwork: the container runtime doesn't say"), "{words}");
}

/// Needs a network namespace.
pub(crate) async fn a_probe_type_reaches_the_loopback_interface_of_its_pod() {
    let network = OwnNetwork::new().expect("this machine makes network namespaces");
    let (node, _secrets) = node_with(LOOPBACK, "", Some(network.process())).await;
    let port = network.echo();
    let reached = probe(&node, "granted", &talk(port)).await;
    assert_eq!(reached, Ok(ProbeOutcome::Success("0|hello".to_owned())));
    let words = failure(&node, "granted", 1).await;
    assert!(words.starts_with("Refused: "), "{words}");
}

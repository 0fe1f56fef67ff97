//! Probe types of the draft of contract 0.2 on a node, next to those of 0.1.

use tempfile::TempDir;
use witlet_core::probe::ProbeOutcome;
use witlet_ports::ProbeError;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::draft::secrets;
use crate::node::{Node, Setting, cache, compiler};
use crate::probing::probe;

claims!(
    a_probe_type_of_the_draft_is_asked_next_to_a_published_one,
    a_probe_type_of_the_draft_warns_of_its_configuration,
    what_a_probe_type_of_the_draft_is_not_granted_is_named,
);

/// A node with these entries of the draft's guest and one of 0.1, once each was tried, and the folder of its secret.
async fn node(entries: &str) -> (Node, TempDir) {
    let old = "- {name: old, component: prober.wasm, probe: {}, grants: {secrets: [granted], exec: true}}\n";
    let (folder, secrets) = secrets();
    let files = vec![
        ("draft.wasm", witlet_test_guests::PROBE_DRAFT.to_vec()),
        ("prober.wasm", witlet_test_guests::PROBER.to_vec()),
    ];
    let setting = Setting { files, ..Setting::new(compiler(cache())) };
    let node = Node::begin(&format!("{entries}{old}{secrets}"), setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    (node, folder)
}

/// An entry with the guest and this configuration.
fn entry(name: &str, config: &str) -> String {
    format!(
        "- {{name: {name}, component: draft.wasm, probe: {{}}, config: {config}, \
         grants: {{secrets: [granted], exec: true}}}}\n"
    )
}

async fn a_probe_type_of_the_draft_is_asked_next_to_a_published_one() {
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
    for (name, version) in [("old", "0.1.0"), ("new", "0.2.0-draft.1")] {
        let status = node.status(name);
        let versions: Vec<_> = status.roles.iter().map(|role| role.version).collect();
        assert_eq!((status.state, versions), (PluginState::Ready, vec![Some(version)]), "{name}");
    }
}

async fn a_probe_type_of_the_draft_warns_of_its_configuration() {
    let (node, _secrets) = node(&(entry("warns", "{do: warn}") + &entry("refuses", "{do: refuse}"))).await;
    assert_eq!(node.status("warns").warnings.len(), 16);
    let warned = |name: &str| node.status(name).state;
    assert_eq!((warned("warns"), warned("refuses")), (PluginState::Ready, PluginState::Failed));
    assert_eq!(node.events.reasons().iter().filter(|reason| *reason == "PluginWarning").count(), 16);
    let refused = node.status("refuses").detail.unwrap_or_default();
    assert!(refused.contains("NoTable: the table can't be read (rows: 7)"), "{refused}");
}

async fn what_a_probe_type_of_the_draft_is_not_granted_is_named() {
    let (node, _secrets) = node("- {name: bare, component: draft.wasm, probe: {}}\n").await;
    let detail = node.status("bare").detail.unwrap_or_default();
    for import in ["witlet:host/secret@0.2.0-draft.1", "witlet:probe/exec@0.2.0-draft.1"] {
        assert!(detail.contains(import), "{detail}");
    }
}

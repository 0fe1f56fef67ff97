//! Shadows that are compared with another entry, in each role, and recordings of what differs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use witlet_core::admission::Decision;
use witlet_core::probe::ProbeOutcome;
use witlet_ports::SourceEvent;
use witlet_wasm::host::SourcesConfig;
use witlet_wasm::plugin::ShadowReport;

use crate::claims;
use crate::node::{FixedClock, Node, Setting, cache, hostile, pod, pod_in};
use crate::probing::probe;
use crate::sources::{Certain, Memory};

claims!(
    a_shadow_of_a_handler_is_compared_with_that_handler_alone,
    a_shadow_of_a_probe_type_is_asked_what_that_was_asked,
    a_shadow_of_a_source_is_compared_by_its_pods_and_brings_none,
    only_calls_that_meet_a_trigger_are_recorded,
);

async fn started(entries: &str) -> Node {
    let files = vec![
        ("prober.wasm", witlet_test_guests::PROBER.to_vec()),
        ("sourcer.wasm", witlet_test_guests::SOURCER.to_vec()),
    ];
    let setting = Setting { files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

fn reported(node: &Node, name: &str) -> ShadowReport {
    node.status(name).shadow_report.unwrap_or_default()
}

/// The report of the shadow with this name, once it has as many answers, failures and skips together.
async fn report(node: &Node, name: &str, answers: u64) -> ShadowReport {
    let count = |report: &ShadowReport| report.agreed + report.differed + report.failed + report.skipped;
    node.until("the shadow was asked", |node| count(&reported(node, name)) >= answers).await;
    reported(node, name)
}

/// What was recorded of a plugin.
fn records(node: &Node, name: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(node.folder.path().join("recorded").join(name));
    let files = listed.into_iter().flatten().map(|file| file.expect("a file").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

async fn a_shadow_of_a_handler_is_compared_with_that_handler_alone() {
    let entries = hostile("real", "admit", "order: 1, match: {namespaces: [default]}")
        + &hostile("strict", "reject", "order: 2")
        // Agrees with the handler, though not with the node.
        + &hostile("next", "admit", "mode: shadow, shadowOf: real")
        + &hostile("other", "reject", "mode: shadow, shadowOf: real")
        + &hostile("broken", "trap", "order: 0, failurePolicy: Admit")
        + &hostile("after-broken", "admit", "mode: shadow, shadowOf: broken");
    let node = started(&entries).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    let next = report(&node, "next", 1).await;
    assert_eq!((next.agreed, next.differed), (1, 0));
    let other = report(&node, "other", 1).await;
    assert_eq!((other.agreed, other.differed), (0, 1));
    assert_eq!(other.differences[0].decision, "admit", "the handler's verdict, not the node's");
    assert_eq!(report(&node, "after-broken", 1).await.skipped, 1, "there is no verdict to compare with");
    let message = node.events.messages().into_iter().find(|message| message.contains("but real says admit"));
    assert!(message.is_some(), "{:?}", node.events.messages());
    // Where that one isn't asked, neither is its shadow.
    assert!(matches!(node.admit(pod_in("elsewhere", "web")).await, Decision::Reject { .. }));
    assert_eq!(report(&node, "after-broken", 2).await.skipped, 2);
    assert!(matches!(node.admit(pod("api")).await, Decision::Reject { .. }));
    // Shadows are asked one after the other.
    assert_eq!(report(&node, "other", 2).await.differed, 2);
    assert_eq!(reported(&node, "next").agreed, 2);
}

async fn a_shadow_of_a_probe_type_is_asked_what_that_was_asked() {
    let secrets = TempDir::new().expect("a folder");
    let file = secrets.path().join("password");
    std::fs::write(&file, "hunter2").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is the test's file");
    let file = file.display();
    let entries = format!(
        "- {{name: real, component: prober.wasm, probe: {{type: guest}}, \
            grants: {{network: [pod], secrets: [password], exec: true}}}}\n\
         - {{name: poor, component: prober.wasm, probe: {{shadowOf: real}}, record: {{max: 5, on: [differ]}}, \
            grants: {{network: [pod], secrets: [other], exec: true}}}}\n\
         secrets:\n- {{name: password, file: {file}}}\n- {{name: other, file: {file}}}\n"
    );
    let node = started(&entries).await;
    let ask = async |parameters: &str| probe(&node, "guest", parameters).await.expect("the type answers");
    assert_eq!(ask(r#"{"do": "succeed"}"#).await, ProbeOutcome::Success(String::new()));
    assert_eq!(report(&node, "poor", 1).await.agreed, 1);
    assert_eq!(ask(r#"{"do": "fail", "text": "no"}"#).await, ProbeOutcome::Failure("no".to_owned()));
    assert_eq!(report(&node, "poor", 2).await.agreed, 2);
    let granted = ask(r#"{"do": "secret", "text": "password"}"#).await;
    assert_eq!(granted, ProbeOutcome::Success("hunter2".to_owned()), "the shadow changes nothing");
    let poor = report(&node, "poor", 3).await;
    assert_eq!((poor.agreed, poor.differed), (2, 1));
    assert_eq!(
        (&*poor.differences[0].pod, &*poor.differences[0].decision),
        ("default/web/main", "success: hunter2")
    );
    assert!(poor.differences[0].verdict.starts_with("failure: "), "{:?}", poor.differences);
    node.until("the difference is recorded", |node| records(node, "poor").len() == 1).await;
    assert!(node.status("poor").shadow && !node.status("real").shadow);
}

fn manifest(name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}]}}}}"
    )
}

async fn a_shadow_of_a_source_is_compared_by_its_pods_and_brings_none() {
    let source = |name: &str, role: &str, text: &str| {
        format!(
            "- {{name: {name}, component: sourcer.wasm, podSource: {{interval: 1s, allow: {{namespaces: [default]}}{role}}}, \
             record: {{max: 5, on: [differ]}}, config: {{do: pods, text: {text:?}}}}}\n"
        )
    };
    let entries = source("real", "", &manifest("web"))
        + &source("same", ", shadowOf: real", &manifest("web"))
        + &source("other", ", shadowOf: real", &manifest("api"));
    let node = started(&entries).await;
    let set = node.host.pod_sources(SourcesConfig {
        node_name: "n1".to_owned(),
        state: Arc::new(Memory::default()),
        events: node.events.clone(),
        health: Arc::default(),
        clock: Arc::new(FixedClock),
        jitter: Arc::new(Certain),
    });
    let (sender, mut events) = tokio::sync::mpsc::channel::<SourceEvent>(8);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(set.clone().run(sender, tokio_util::sync::CancellationToken::new()));
    let first = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, events.recv()).await;
    assert_eq!(first.expect("a set in time").expect("the sources run").source.to_string(), "real");
    assert!(report(&node, "same", 1).await.agreed >= 1);
    let other = report(&node, "other", 2).await;
    assert_eq!(other.agreed, 0);
    let said: Vec<_> = other.differences.iter().take(2).map(|it| (&*it.pod, &*it.verdict)).collect();
    assert_eq!(
        said,
        [
            ("default/api", "it has the pod, one of 2 differences"),
            ("default/web", "it does not have the pod, one of 2 differences"),
        ]
    );
    node.until("the difference is recorded", |node| !records(node, "other").is_empty()).await;
    assert!(records(&node, "same").is_empty() && records(&node, "real").is_empty());
    let names: Vec<String> = set.names().borrow().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["real"], "a shadow is no source");
}

async fn only_calls_that_meet_a_trigger_are_recorded() {
    let recorded = |name: &str, behaviour: &str, role: &str, on: &str| {
        format!(
            "- {{name: {name}, component: hostile.wasm, admission: {{{role}}}, limits: {{timeout: 10s}}, \
             record: {{max: 5, on: [{on}]}}, config: {behaviour}}}\n"
        )
    };
    let entries = recorded("admits", "admit", "order: 1", "reject, error")
        + &recorded("traps", "trap", "order: 2, failurePolicy: Admit", "error")
        + &recorded("quiet", "trap", "order: 3, failurePolicy: Admit", "reject")
        + &recorded("rejects", "reject", "order: 4", "reject")
        + &recorded("differs", "admit", "mode: shadow", "differ")
        + &recorded("agrees", "reject", "mode: shadow", "differ");
    let node = started(&entries).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    for (name, count) in [("traps", 1), ("rejects", 1), ("differs", 1)] {
        node.until("it is recorded", |node| records(node, name).len() == count).await;
    }
    assert_eq!(report(&node, "agrees", 1).await.agreed, 1);
    for name in ["admits", "quiet", "agrees"] {
        assert_eq!(node.status(name).calls(), 1, "{name} was asked");
        assert!(records(&node, name).is_empty(), "{name}");
    }
}

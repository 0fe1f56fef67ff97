//! Data next to a plugin's configuration: read, replaced, missing, and kept; and the numbers that plugins count.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use witlet_core::admission::{Decision, Verdict};
use witlet_core::stats::exposition::written;
use witlet_ports::MetricsSource as _;
use witlet_wasm::direct::{DirectHost, DirectOptions, PreparedRequest};
use witlet_wasm::plugin::PluginState;
use witlet_wasm::plugin::config::{Grants, TIMEOUT_MAX};
use witlet_wasm::record;

use crate::claims;
use crate::node::{FixedClock, Node, Setting, cache, compiler, configuration, hostile, pod, pod_in, request};

claims!(
    a_handler_reads_the_data_of_its_entry_and_newer_ones_after_a_swap,
    data_that_are_missing_keep_a_plugin_out_until_they_are_there,
    the_last_good_data_serve_while_their_file_is_gone_and_over_a_restart,
    a_component_that_reads_no_data_is_refused_with_them,
    records_and_the_decision_log_have_the_digests_of_data,
    a_handler_that_is_asked_directly_has_the_data_that_it_is_given,
    what_a_handler_counts_is_among_the_metrics_and_goes_on_over_a_reload,
);

/// SHA-256 of `one`.
const ONE: &str = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";

/// An entry of the guest with two data, and the secret that it is granted.
fn entries(more: &str) -> String {
    format!(
        "- {{name: reader, component: v0-2.wasm, admission: {{match: {{namespaces: [reader]}}}}, \
         limits: {{timeout: 10s}}, grants: {{secrets: [none]}}, config: {{do: tell-data}}, \
         data: [{{name: list, file: ./list}}, {{name: empty, file: empty}}]{more}}}\nsecrets: [{{name: none, file: none}}]\n"
    )
}

pub(crate) fn setting(files: &[(&'static str, &str)]) -> Setting {
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes().to_vec()));
    let files = files.chain([("v0-2.wasm", witlet_test_guests::ADMISSION_V0_2.to_vec())]).collect();
    Setting { files, ..Setting::new(compiler(cache())) }
}

async fn start(files: &[(&'static str, &str)]) -> Node {
    ready(Node::begin(&entries(""), setting(files)).await.expect("the host starts")).await
}

pub(crate) async fn ready(node: Node) -> Node {
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

/// What the guest tells of its data.
pub(crate) async fn reported(node: &Node) -> Value {
    match node.refused_by("reader", pod_in("reader", "web")).await {
        Decision::Reject { message, .. } => serde_json::from_str(&message).expect("it tells in JSON"),
        other => panic!("{other:?}"),
    }
}

/// The same once its list is this one.
pub(crate) async fn reported_with(node: &Node, list: &str) -> Value {
    let telling = async {
        loop {
            let reported = reported(node).await;
            if reported["list"][2] == list {
                return reported;
            }
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, telling).await.expect("the new data are taken")
}

async fn a_handler_reads_the_data_of_its_entry_and_newer_ones_after_a_swap() {
    let node = start(&[("list", "one"), ("empty", "")]).await;
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(
        reported(&node).await,
        json!({
            "names": ["empty", "list"],
            "list": [format!("sha256:{ONE}"), 3, "one", "ne", ""],
            "empty": [format!("sha256:{nothing}"), 0, "", "", ""],
            "other": ["NotFound", "the plugin's entry has no data \"other\"", null, null],
        })
    );
    let status = node.status("reader");
    let [empty, list] = &status.data[..] else { panic!("{status:?}") };
    assert_eq!((&*empty.name, &*list.name, &*list.digest, list.size_bytes), ("empty", "list", ONE, 3));
    assert!(list.source.ends_with("/list") && list.problem.is_none(), "{list:?}");
    node.put("list", "longer than one");
    assert_eq!(reported_with(&node, "longer than one").await["list"][1], 15);
    let messages = node.events.messages();
    assert!(
        messages.iter().any(|message| message.contains("with another configuration or other data")),
        "{messages:?}"
    );
}

async fn data_that_are_missing_keep_a_plugin_out_until_they_are_there() {
    let node = start(&[("list", "one")]).await;
    let status = node.status("reader");
    assert_eq!(status.state, PluginState::Failed);
    let detail = status.detail.unwrap_or_default();
    assert!(
        detail.starts_with("failed to read data \"empty\": read ") && detail.contains("/empty"),
        "{detail}"
    );
    let waits = node.admit(pod_in("reader", "web")).await;
    assert!(matches!(waits, Decision::Defer { .. }), "by its failure policy: {waits:?}");
    let reasons = node.events.reasons();
    assert!(reasons.iter().any(|reason| reason == "PluginDataNotRead"), "{reasons:?}");
    node.put("empty", "");
    node.until("it is loaded", |node| node.status("reader").state == PluginState::Ready).await;
    assert_eq!(reported(&node).await["list"][2], "one");
}

async fn the_last_good_data_serve_while_their_file_is_gone_and_over_a_restart() {
    let node = start(&[("list", "one"), ("empty", "")]).await;
    let problem = |node: &Node| node.status("reader").data.into_iter().find_map(|data| data.problem);
    std::fs::remove_file(node.folder.path().join("list")).expect("it is there");
    node.host.check_inputs();
    node.until("it is missed", |node| problem(node).is_some()).await;
    assert_eq!(reported(&node).await["list"][2], "one");
    // The node is as ready as it was: the last good data are what the plugin is to go on with.
    let problems = node.host.problems();
    assert!(!problems.iter().any(|text| text.contains("data")), "{problems:?}");
    let Node { folder, host, .. } = node;
    drop(host);
    let node = ready(Node::in_folder(folder, setting(&[])).await.expect("the host starts")).await;
    assert_eq!(reported(&node).await["list"][2], "one", "the copy that was kept");
    assert!(problem(&node).is_some());
    node.put("list", "two");
    reported_with(&node, "two").await;
    assert_eq!(problem(&node), None);
}

async fn a_component_that_reads_no_data_is_refused_with_them() {
    let refused =
        hostile("reader", "admit", "").replace("config:", "data: [{name: list, file: list}], config:");
    let node =
        ready(Node::begin(&refused, setting(&[("list", "one")])).await.expect("the host starts")).await;
    let status = node.status("reader");
    assert_eq!(status.state, PluginState::Failed);
    let detail = status.detail.unwrap_or_default();
    assert!(
        detail.contains("its entry has data, but the component doesn't import witlet:host/data"),
        "{detail}"
    );
    node.configure(&configuration(&hostile("reader", "admit", "")));
    node.until("it is loaded", |node| node.status("reader").state == PluginState::Ready).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn records_and_the_decision_log_have_the_digests_of_data() {
    let text = entries(", record: {max: 1}") + "decisionLog: true\n";
    let node = Node::begin(&text, setting(&[("list", "one"), ("empty", "")])).await.expect("the host starts");
    let node = ready(node).await;
    let folder = node.folder.path().join("recorded/reader");
    let record = || -> Option<PathBuf> {
        let files = std::fs::read_dir(&folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
        files.into_iter().find(|path| path.extension().is_some_and(|end| end == "json"))
    };
    let log = node.folder.path().join("decisions/decisions.jsonl");
    let is_written =
        || std::fs::read_to_string(&log).is_ok_and(|text| text.contains('\n')) && record().is_some();
    // Asked again and again: of a queue that is full calls are left out.
    let writing = async {
        while !is_written() {
            reported(&node).await;
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, writing).await.expect("calls are recorded");
    let line = std::fs::read_to_string(&log).expect("it is there");
    let line: Value = serde_json::from_str(line.lines().next().unwrap_or_default()).expect("JSON");
    assert_eq!((&line["plugin"], &line["data"]["list"]), (&json!("reader"), &json!(ONE)), "{line}");
    let call = record().and_then(|path| record::read(&path).ok());
    // The newest takes the place of the one before while that is checked.
    let data = call.map(|call| call.data).unwrap_or_default();
    assert!(data.is_empty() || data.get("list").is_some_and(|digest| digest == ONE), "{data:?}");
}

async fn what_a_handler_counts_is_among_the_metrics_and_goes_on_over_a_reload() {
    let counting = |more: &str| entries("").replace("tell-data}", &format!("count{more}}}"));
    let files = [("list", "one"), ("empty", "")];
    let node = ready(Node::begin(&counting(""), setting(&files)).await.expect("the host starts")).await;
    let metrics = node.host.metrics();
    let value = |begin: &str| {
        let text = written(|to| metrics.write(to)).expect("it is small");
        let found = text.lines().find_map(|line| line.strip_prefix(begin)?.trim().parse::<u64>().ok());
        found.unwrap_or_else(|| panic!("no {begin}:\n{text}"))
    };
    let asked = r#"witlet_plugin_custom_asked_total{plugin="reader",operation="add"}"#;
    let once = async || assert_eq!(node.admit(pod_in("reader", "web")).await, Decision::Admit);
    once().await;
    // On a busy machine a call may have been given up and asked for again.
    let before = value(asked);
    assert!(before >= 2 && before % 2 == 0, "{before}");
    assert_eq!(value(r#"witlet_plugin_custom_containers_count{plugin="reader"}"#), before / 2);
    assert_eq!(value(r#"witlet_plugin_custom_containers_bucket{plugin="reader",le="0.5"}"#), 0);
    assert_eq!(value(r#"witlet_plugin_custom_containers_bucket{plugin="reader",le="1"}"#), before / 2);
    assert_eq!(value(r#"witlet_plugin_metrics_dropped_total{plugin="reader",reason="name"}"#), before / 2);
    node.configure(&configuration(&counting(", warn: other")));
    let warned = |node: &Node| node.events.reasons().iter().any(|reason| reason == "PluginReplaced");
    node.until("it is loaded again", warned).await;
    once().await;
    assert!(value(asked) > before, "the numbers go on");
}

async fn a_handler_that_is_asked_directly_has_the_data_that_it_is_given() {
    let host = DirectHost::start(compiler(cache()), Arc::new(FixedClock)).expect("the engine starts");
    let grants = Grants { secrets: ["none".to_owned()].into(), ..Grants::default() };
    let options = DirectOptions {
        config: json!({"do": "tell-data"}),
        timeout: TIMEOUT_MAX,
        grants,
        data: [("list".to_owned(), b"one".to_vec())].into(),
        ..DirectOptions::default()
    };
    let handler =
        host.admission(witlet_test_guests::ADMISSION_V0_2.into(), options).await.expect("it is loaded");
    let answer = handler.admit(&PreparedRequest::new(request(pod("web")))).await.result;
    let Ok(Verdict::Reject { message, .. }) = answer else { panic!("{answer:?}") };
    let reported: Value = serde_json::from_str(&message).expect("it tells in JSON");
    assert_eq!(
        (&reported["names"], &reported["list"][2], &reported["empty"][0]),
        (&json!(["list"]), &json!("one"), &json!("NotFound"))
    );
}

//! What `-o json` prints is what the schemas in the book say (`docs/src/schemas`): the commands' own functions ask a real local
//! API, over a real socket, with an agent made of constants.

mod book;
mod check;
mod plugins;
mod transfers;
mod world;

use std::path::Path;

use clap::Parser as _;
use serde_json::{Value, json};
use witlet_conformance::run::{CaseAnswer, CaseCall, CaseRun, ReceivedBytes};
use witlet_core::admission::{Operation, Shortage};
use witlet_server::LocalClient;
use witlet_wasm::direct::CapturedLine;
use witlet_wasm::role::Role;

use crate::cli::{Cli, Command, Plugin};
use crate::plugin::diff::{
    Comparison, Difference, DifferenceKind, HandlerAnswer, SideFigures, SkippedRecording,
};
use crate::top::document;
use crate::{describe, plugin};
use check::Schemas;
use world::{Epoch, with_agent};

fn schemas() -> Schemas {
    Schemas::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/schemas"))
}

#[track_caller]
fn holds(file: &str, value: &Value) {
    let findings = schemas().findings(file, value);
    assert!(findings.is_empty(), "{file}:\n  {}\n{value:#}", findings.join("\n  "));
}

fn json_of<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("it has a JSON form")
}

/// Returns what `witlet top …` prints.
async fn top(client: &LocalClient, arguments: &[&str]) -> Value {
    let socket = client.socket().to_str().expect("the test's own path");
    let line = [&["witlet", "top"], arguments, &["--api-socket", socket]].concat();
    let Command::Top(top) = Cli::try_parse_from(line).expect("a command line").command else {
        panic!("it is `witlet top`")
    };
    document(&top, &Epoch).await.expect("the agent answers")
}

#[tokio::test(start_paused = true)]
async fn lists_are_as_their_schemas_say() {
    with_agent(async |client| {
        let answer = async |request: &str| client.get::<Value>(request).await.expect("the agent answers");
        let (pods, events) = (answer("/pods").await, answer("/events").await);
        let pod = pods["items"][0].clone();
        assert_eq!(events["items"].as_array().map(Vec::len), Some(4), "an event of each kind of object");
        holds("pods.json", &pods);
        // What the command prints was read first, and so has the name of its kind.
        let list: k8s_openapi::List<k8s_openapi::api::core::v1::Pod> =
            client.get("/pods").await.expect("pods");
        holds("pods.json", &json_of(&list));
        holds("pods.json", &json_of(&list.items[0]));
        holds("events.json", &events);
        let node: k8s_openapi::api::core::v1::Node = client.get("/node").await.expect("a node");
        holds("node.json", &json_of(&node));
        holds("plugins.json", &answer("/plugins").await);
        holds("usage.json", &answer("/usage").await);
        holds("watch.json", &json!({"type": "ADDED", "object": pod}));
        holds("watch.json", &json!({"type": "MODIFIED", "object": events["items"][0]}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lines_of_watches_are_as_their_schema_says() {
    with_agent(async |client| {
        for request in ["/pods?watch=true", "/events?watch=true"] {
            let mut lines = client.lines(request).await.expect("the agent answers");
            let line: Value = lines.next().await.expect("the watch goes on").expect("there is a line");
            holds("watch.json", &line);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn descriptions_are_as_their_schemas_say() {
    with_agent(async |client| {
        let pod = describe::pod::describe(&client, "default", "web").await.expect("the pod is there");
        let pod = json_of(&pod);
        for part in ["admission", "probes", "events"] {
            assert!(pod[part].as_array().is_some_and(|all| !all.is_empty()), "{part} is tried, too: {pod:#}");
        }
        holds("describe-pod.json", &pod);
        let node = describe::node::describe(&client).await.expect("the agent answers");
        holds("describe-node.json", &json_of(&node));
        let plugin = describe::plugin::describe(&client, "images").await.expect("the plugin is there");
        holds("describe-plugin.json", &json_of(&plugin));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn outputs_are_as_their_schemas_say() {
    with_agent(async |client| {
        let pods = top(&client, &["pods"]).await;
        assert_eq!(pods["items"].as_array().map(Vec::len), Some(1), "{pods:#}");
        holds("usage.json", &pods);
        holds("top-node.json", &top(&client, &["node"]).await);
        let plugins = top(&client, &["plugins"]).await;
        assert_eq!(plugins["items"].as_array().map(Vec::len), Some(2), "{plugins:#}");
        holds("top-plugins.json", &plugins);
    })
    .await;
}

/// A case with everything that its kind of answer can have.
fn case_run() -> CaseRun {
    let text = |text: &str| Some(text.to_owned());
    let answer = CaseAnswer {
        kind: "defer",
        reason: text("Later"),
        message: text("not now"),
        retry_after_milliseconds: Some(500),
        resources: vec![Shortage { resource: "cpu".to_owned(), requested: 3, used: 2, capacity: 4 }],
        manifests: vec!["{}".to_owned()],
        cursor: text("7"),
        words: "defer Later".to_owned(),
    };
    let call = CaseCall {
        function: "handler.admit".to_owned(),
        answer,
        differs: text("defer Later"),
        took_seconds: 0.1,
        cpu_seconds: Some(0.1),
        memory_bytes_peak: Some(1 << 20),
        log: vec![CapturedLine {
            level: "info",
            message: "asked".to_owned(),
            fields: vec![("name".to_owned(), "web".to_owned())],
        }],
        commands: vec![vec!["true".to_owned()]],
    };
    CaseRun {
        file: "cases.yaml".to_owned(),
        case: "a pod waits".to_owned(),
        role: Role::Admission,
        calls: vec![call],
        received: vec![ReceivedBytes { port: 80, text: "GET /".to_owned() }],
        problem: text("no such port"),
    }
}

#[test]
fn reports_for_authors_of_plugins_are_as_their_schemas_say() {
    let full = case_run();
    let least = CaseCall {
        answer: CaseAnswer { kind: "ok", ..CaseAnswer::default() },
        differs: None,
        cpu_seconds: None,
        memory_bytes_peak: None,
        log: Vec::new(),
        commands: Vec::new(),
        ..full.calls[0].clone()
    };
    let least = CaseRun { calls: vec![least], received: Vec::new(), problem: None, ..full.clone() };
    let report = plugin::run::Report::new("x.wasm".to_owned(), vec![full, least]);
    holds("plugin-run.json", &json_of(&report));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("team-label");
    let line = ["witlet", "plugin", "new", "team-label", "--lang", "c", "--role", "probe", "--into"];
    let Command::Plugin(Plugin::New(new)) = parsed(&line, &project) else { panic!("it is `plugin new`") };
    let (made, files) = plugin::new::create(&new).expect("a temporary folder");
    holds("plugin-new.json", &plugin::new::for_programs(&new, &made, &files));
    std::fs::write(project.join("lib/plugin.mk"), "own").expect("it is there");
    std::fs::remove_file(project.join(".witlet-template.json")).expect("it is there");
    let Command::Plugin(Plugin::Upgrade(args)) = parsed(&["witlet", "plugin", "upgrade"], &project) else {
        panic!("it is `plugin upgrade`")
    };
    let upgrade = json_of(&plugin::upgrade::upgrade(&args, &project).expect("it is recognised"));
    assert_eq!((&upgrade["needsAHand"], &upgrade["from"]), (&json!(true), &Value::Null), "{upgrade:#}");
    holds("plugin-upgrade.json", &upgrade);
}

#[test]
fn evaluations_are_as_their_schema_says() {
    for report in plugin::eval::report::tests::reports() {
        holds("plugin-eval.json", &report);
    }
}

#[test]
fn comparisons_are_as_their_schema_says() {
    let figures = SideFigures {
        source: "plugins.yaml#old".to_owned(),
        digest: "c0dd".to_owned(),
        errors: 1,
        p50_seconds: 0.1,
        p99_seconds: 0.2,
        cpu_seconds: 0.3,
        memory_bytes_peak: 1 << 20,
    };
    let answer = |reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        HandlerAnswer { verdict: "reject", message: reason.clone(), reason, words: String::new() }
    };
    let difference = |kind, operation: Operation| Difference {
        recording: "1.json".to_owned(),
        plugin: "old".to_owned(),
        pod: "default/web".to_owned(),
        operation: operation.as_str(),
        kind,
        a: answer(Some("Wrong")),
        b: answer(None),
    };
    let kinds = [DifferenceKind::Verdict, DifferenceKind::Message];
    let of_kind = |kind| Operation::ALL.map(|operation| difference(kind, operation));
    let comparison = Comparison {
        a: figures.clone(),
        b: figures,
        requests: 12,
        differences: kinds.into_iter().flat_map(of_kind).collect(),
        skipped: vec![SkippedRecording { recording: "2.json".to_owned(), problem: "it is empty".to_owned() }],
    };
    holds("plugin-diff.json", &json_of(&comparison));
}

#[test]
fn inspections_are_as_their_schema_says() {
    let manifest = witlet_wasm::manifest::Manifest::parse(
        "{apiVersion: witlet.dev/v1alpha1, kind: PluginManifest, name: a, version: 1.0.0, description: b, authors: c, \
         documentation: d, homepage: e, licenses: MIT, source: f, vendor: g, config: {type: object}, parameters: {}, \
         grants: [{name: exec, reason: h}]}",
    );
    let manifest = manifest.expect("a manifest");
    for component in [witlet_test_guests::NO_LATEST_TAG, witlet_test_guests::HOSTILE] {
        let inspection = witlet_wasm::inspect::inspect(component).expect("a component");
        holds("plugin-inspect.json", &crate::inspect::for_programs(&inspection, Some(&manifest)));
        holds("plugin-inspect.json", &crate::inspect::for_programs(&inspection, None));
    }
}

fn parsed(line: &[&str], folder: &Path) -> Command {
    let folder = folder.to_str().expect("the test's own path");
    Cli::try_parse_from([line, &[folder]].concat()).expect("a command line").command
}

#[test]
fn what_a_schema_does_not_have_is_found() {
    let event = json!({
        "metadata": {"resourceVersion": "1"}, "involvedObject": {"kind": "Node"}, "type": "Normal", "reason": "A",
        "message": "b", "count": 1, "firstTimestamp": "t", "lastTimestamp": "t",
    });
    let list = |event: Value| json!({"metadata": {"resourceVersion": "1"}, "items": [event]});
    holds("events.json", &list(event.clone()));
    for (change, words) in [
        (json!({"more": 1}), ".items[0].more isn't in events.json"),
        (json!({"count": "1"}), ".items[0].count must be integer, found \"1\""),
        (json!({"count": -1}), ".items[0].count must be at least 0, found -1"),
        (json!({"type": "Odd"}), ".items[0].type must be one of"),
        (json!({"metadata": {}}), ".items[0].metadata.resourceVersion is missing"),
    ] {
        let mut event = event.clone();
        for (name, value) in change.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        let findings = schemas().findings("events.json", &list(event));
        assert!(findings.iter().any(|finding| finding.contains(words)), "{words}: {findings:?}");
    }
}

//! Components that were built against different versions of a contract, on one host.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;
use witlet_core::admission::Decision;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, hostile, pod};

claims!(
    components_of_two_versions_are_asked_side_by_side,
    a_newer_version_sees_and_says_what_an_older_one_cannot,
    what_a_newer_version_forbids_is_a_bad_answer_there,
    a_component_of_an_older_version_of_the_track_links,
    components_of_versions_that_no_one_serves_are_refused_by_name,
    a_component_of_tomorrow_runs_on_the_host_of_today,
    what_this_host_does_not_have_ends_the_call_that_uses_it,
    a_component_may_bring_a_version_for_the_host_of_tomorrow,
);

/// The contract that only tests have, and the words of it that came last.
const WIT: &str = include_str!("../../guests/next-version/wit/admission/admission.wit");
/// The version of [`WIT`].
const NEWEST: &str = "0.3.1";
/// What the version before didn't have.
const ADDED: &str = "        /// Since 0.3.1.\n        origin: func() -> origin;\n";

/// A handler that was built against a version with these words and rejects everything. It imports nothing but the types of
/// its exports.
fn built_against(version: &str, words: &str) -> Vec<u8> {
    let mut wit = Resolve::default();
    wit.push_source("host.wit", include_str!("../../../wit/host/host.wit")).expect("the contract is valid");
    let package = wit.push_source("admission.wit", words).expect("the contract is valid");
    let world = wit.select_world(&[package], Some("admission-handler")).expect("the contract has it");
    // `validate` answers with the zeros at 0. `admit` answers with a verdict at 64: no error, and the second case, whose
    // reason and message are at 128 and 144.
    let core = format!(
        r#"(module
            (import "witlet:admission/types@{version}" "[resource-drop]request" (func $drop (param i32)))
            (memory (export "memory") 1)
            (data (i32.const 68) "\01\00\00\00\80\00\00\00\05\00\00\00\90\00\00\00\07\00\00\00")
            (data (i32.const 128) "Older")
            (data (i32.const 144) "not now")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "witlet:admission/handler@{version}#validate") (param i32 i32) (result i32)
                (i32.const 0))
            (func (export "witlet:admission/handler@{version}#admit") (param i32) (result i32)
                (call $drop (local.get 0)) (i32.const 64)))"#
    );
    let mut module = wat::parse_str(core).expect("the text is a constant of this file");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8).expect("the world is valid");
    ComponentEncoder::default()
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .expect("the module fits the world")
}

/// What a host of tomorrow has.
const TOMORROW: &str = "0.3.7";
/// An interface of it that this host doesn't have.
const MOON: &str = "package witlet:host@0.1.9;
    interface moon {
        /// Fails on hosts without one.
        phase: func() -> result<u32, string>;
    }
";

/// A handler that was built against tomorrow's contract: a function more, and an interface more. `asks` is what it does before it
/// rejects.
fn of_tomorrow(asks: &str, versions: &[&str]) -> Vec<u8> {
    let mut wit = Resolve::default();
    wit.push_source("host.wit", include_str!("../../../wit/host/host.wit")).expect("the contract is valid");
    wit.push_source("moon.wit", MOON).expect("the text is a constant of this file");
    let mut exports = String::new();
    let mut functions = String::new();
    for version in versions {
        let added = "        pod: func() -> pod;\n        tomorrow: func() -> bool;\n";
        let words = WIT.replace(&format!("@{NEWEST};"), &format!("@{version};")).replacen(
            "        pod: func() -> pod;\n",
            added,
            1,
        );
        assert!(words.contains("tomorrow"), "the contract has the function that this follows");
        wit.push_source("admission.wit", &words).expect("the contract is valid");
        exports += &format!("export witlet:admission/handler@{version};");
        functions += &format!(
            r#"(func (export "witlet:admission/handler@{version}#validate") (param i32 i32) (result i32)
                (i32.const 0))
            (func (export "witlet:admission/handler@{version}#admit") (param i32) (result i32)
                {asks}
                (call $drop{} (local.get 0)) (i32.const 64))"#,
            version.replace('.', "_")
        );
    }
    let drops: String = versions
        .iter()
        .map(|version| {
            format!(
                r#"(import "witlet:admission/types@{version}" "[resource-drop]request" (func $drop{} (param i32)))"#,
                version.replace('.', "_")
            )
        })
        .collect();
    let world =
        format!("package tests:tomorrow; world tomorrow {{ import witlet:host/moon@0.1.9; {exports} }}");
    let package = wit.push_source("world.wit", &world).expect("the world is valid");
    let world = wit.select_world(&[package], Some("tomorrow")).expect("the package has it");
    let core = format!(
        r#"(module
            {drops}
            (import "witlet:admission/types@{TOMORROW}" "[method]request.tomorrow"
                (func $tomorrow (param i32) (result i32)))
            (import "witlet:host/moon@0.1.9" "phase" (func $phase (param i32)))
            (memory (export "memory") 1)
            (data (i32.const 68) "\01\00\00\00\80\00\00\00\05\00\00\00\90\00\00\00\07\00\00\00")
            (data (i32.const 128) "Older")
            (data (i32.const 144) "not now")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            {functions})"#
    );
    let mut module = wat::parse_str(core).expect("the text is a constant of this file");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8).expect("the world is valid");
    ComponentEncoder::default()
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .expect("the module fits the world")
}

/// The contract as the version before the newest had it, under this number.
fn older(version: &str) -> String {
    assert!(WIT.contains(ADDED), "the contract says what is new in it");
    WIT.replace(ADDED, "").replace(&format!("@{NEWEST};"), &format!("@{version};"))
}

/// One entry.
fn entry(name: &str, component: &str, config: &str) -> String {
    format!(
        "- {{name: {name}, component: {component}, admission: {{}}, limits: {{timeout: 10s}}, config: {config}}}\n"
    )
}

/// A node with these entries, once each of them was tried.
async fn node(entries: &str) -> Node {
    let files = vec![
        ("next.wasm", witlet_test_guests::NEXT_VERSION.to_vec()),
        ("older.wasm", built_against("0.3.0", &older("0.3.0"))),
        // Asks for the moon, and goes on only without it.
        (
            "phase.wasm",
            of_tomorrow(
                "(call $phase (i32.const 512)) (if (i32.eqz (i32.load8_u (i32.const 512))) (then unreachable))",
                &[TOMORROW],
            ),
        ),
        ("call.wasm", of_tomorrow("(drop (call $tomorrow (local.get 0)))", &[TOMORROW])),
        ("both.wasm", of_tomorrow("", &[TOMORROW, "0.9.0"])),
        ("unknown.wasm", built_against("0.9.0", &older("0.9.0"))),
    ];
    let setting = Setting { files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready())
        .await
        .expect("every plugin is tried in time");
    node
}

fn labelled(name: &str) -> Pod {
    let mut pod = pod(name);
    pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    if let Some(container) = pod.spec.as_mut().and_then(|spec| spec.containers.first_mut()) {
        container.command = Some(vec!["serve".to_owned(), "--all".to_owned()]);
    }
    pod
}

fn rejected(reason: &str, message: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: message.to_owned(), handler: None }
}

fn versions(node: &Node, name: &str) -> Vec<Option<&'static str>> {
    node.status(name).roles.iter().map(|role| role.version).collect()
}

async fn components_of_two_versions_are_asked_side_by_side() {
    let node = node(&(hostile("old", "admit", "order: 1") + &entry("new", "next.wasm", "defer"))).await;
    let deferred = Decision::Defer {
        reason: "NotNow".to_owned(),
        message: "not now".to_owned(),
        retry_after: Duration::from_secs(7),
    };
    assert_eq!(node.refused_by("new", pod("web")).await, deferred);
    assert_eq!((versions(&node, "old"), versions(&node, "new")), (vec![Some("0.1.0")], vec![Some("0.3.1")]));
    assert_eq!((node.status("old").calls(), node.status("new").calls()), (1, 1));
}

async fn a_newer_version_sees_and_says_what_an_older_one_cannot() {
    let check = node(&entry("new", "next.wasm", "inspect")).await;
    let seen = "add default/web uid-of-web app=Some(\"web\") none=None main registry.example.com/app:1.2 \
                [\"serve\", \"--all\"] from Origin::File on node-1 system=None";
    assert_eq!(check.refused_by("new", labelled("web")).await, rejected("Seen", seen));
    let several = node(&entry("new", "next.wasm", "reject-all")).await;
    let reported = rejected("First", "the first reason; the second reason");
    assert_eq!(several.refused_by("new", pod("web")).await, reported);
}

async fn what_a_newer_version_forbids_is_a_bad_answer_there() {
    let node = node(&entry("new", "next.wasm", "reject-none")).await;
    match node.admit(pod("web")).await {
        Decision::Defer { message, .. } => {
            assert!(message.contains("the list of rejections is empty"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let refused = self::node(&entry("new", "next.wasm", "dance")).await;
    let error = refused.status("new").detail.unwrap_or_default();
    assert!(error.contains("unknown instruction: dance"), "{error}");
}

async fn a_component_of_an_older_version_of_the_track_links() {
    let node = node(&entry("older", "older.wasm", "null")).await;
    assert_eq!(node.refused_by("older", pod("web")).await, rejected("Older", "not now"));
    assert_eq!(versions(&node, "older"), [Some("0.3.1")]);
}

async fn components_of_versions_that_no_one_serves_are_refused_by_name() {
    let node = node(&entry("unknown", "unknown.wasm", "null")).await;
    let status = node.status("unknown");
    assert_eq!(status.state, PluginState::Failed);
    let error = status.detail.unwrap_or_default();
    for words in [
        "it exports witlet:admission/handler@0.9.0, but this host serves version 0.1.0, 0.2.0, 0.3.1",
        "it imports witlet:admission/types@0.9.0, which doesn't exist in this release",
    ] {
        assert!(error.contains(words), "{error}");
    }
}

async fn a_component_of_tomorrow_runs_on_the_host_of_today() {
    let node = node(&entry("phase", "phase.wasm", "null")).await;
    assert_eq!(node.refused_by("phase", pod("web")).await, rejected("Older", "not now"));
    assert_eq!(versions(&node, "phase"), [Some(NEWEST)]);
}

async fn what_this_host_does_not_have_ends_the_call_that_uses_it() {
    let node = node(&entry("call", "call.wasm", "null")).await;
    match node.admit(pod("web")).await {
        Decision::Defer { message, .. } => {
            let words = "this host doesn't have witlet:admission/types@0.3.7 [method]request.tomorrow";
            assert!(message.contains(words), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

async fn a_component_may_bring_a_version_for_the_host_of_tomorrow() {
    let node = node(&entry("both", "both.wasm", "null")).await;
    assert_eq!(node.refused_by("both", pod("web")).await, rejected("Older", "not now"));
    assert_eq!(versions(&node, "both"), [Some(NEWEST)]);
}

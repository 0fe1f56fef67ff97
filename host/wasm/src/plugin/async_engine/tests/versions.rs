//! Components of several versions of a contract, side by side.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;
use witlet_core::probe::ProbeOutcome;

use super::node::{Setting, ask};
use crate::plugin::CallError;
use crate::role::Role;

/// The contracts whose answers are calls.
const HOST: &str = include_str!("../../../../../../wit/host-0.2.0/host.wit");
/// See [`HOST`].
const PROBE: &str = include_str!("../../../../../../wit/probe-0.2.0/probe.wit");
/// A method of [`PROBE`], which a probe type of yesterday wouldn't know.
const NEWEST: &str = "        annotate: func(key: string, value: string);\n";

/// A probe type that was built against this version in these words, and answers "yes" by this method.
fn answering(version: &str, words: &str, method: &str) -> Vec<u8> {
    let mut wit = Resolve::default();
    wit.push_source("host.wit", HOST).expect("the contract is valid");
    let words = words.replace("package witlet:probe@0.2.0;", &format!("package witlet:probe@{version};"));
    let package = wit.push_source("probe.wit", &words).expect("the contract is valid");
    let world = wit.select_world(&[package], Some("probe-type")).expect("the contract has it");
    let core = format!(
        r#"(module
            (import "witlet:probe/probe-types@{version}" "[resource-drop]setup" (func $setup (param i32)))
            (import "witlet:probe/probe-types@{version}" "[resource-drop]check" (func $check (param i32)))
            (import "witlet:probe/probe-types@{version}" "[resource-drop]target" (func $target (param i32)))
            (import "witlet:probe/probe-types@{version}" "[resource-drop]answer" (func $answer (param i32)))
            (import "witlet:probe/probe-types@{version}" "[method]answer.{method}"
                (func $answer_by (param i32 i32 i32)))
            (memory (export "memory") 1)
            (data (i32.const 2048) "yes")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
            (func (export "witlet:probe/prober@{version}#validate") (param i32 i32 i32) (result i32)
                (call $setup (local.get 0)) (i32.const 1024))
            (func (export "witlet:probe/prober@{version}#check-parameters") (param i32 i32 i32) (result i32)
                (call $check (local.get 0)) (i32.const 1024))
            (func (export "witlet:probe/prober@{version}#probe") (param i32 i32 i32 i32) (result i32)
                (call $answer_by (local.get 3) (i32.const 2048) (i32.const 3))
                (call $target (local.get 0)) (call $answer (local.get 3)) (i32.const 1024)))"#
    );
    let mut module = wat::parse_str(core).expect("the text is a constant of this file");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8).expect("the world is valid");
    let mut encoder = ComponentEncoder::default().module(&module).expect("the module fits the world");
    encoder.encode().expect("the module fits the world")
}

#[tokio::test]
async fn a_kind_of_answer_more_is_a_method_more_and_older_probe_types_link() {
    assert_eq!(PROBE.matches(NEWEST).count(), 1, "the contract has the method");
    let yesterday = Setting::default().made(&answering("0.2.0", &PROBE.replace(NEWEST, ""), "success"));
    assert!(yesterday.validate(Role::Probe).await.is_ok());
    assert_eq!(ask(&yesterday, "null").await.ok(), Some(ProbeOutcome::Success("yes".to_owned())));
}

#[tokio::test]
async fn a_method_of_tomorrow_links_and_is_refused_by_name_when_it_is_called() {
    let tomorrow = PROBE.replace(NEWEST, &format!("{NEWEST}        degraded: func(message: string);\n"));
    let prober = Setting::default().made(&answering("0.2.1", &tomorrow, "degraded"));
    assert!(prober.validate(Role::Probe).await.is_ok());
    let error = ask(&prober, "null").await.expect_err("the host has no such answer");
    let words = "this host doesn't have witlet:probe/probe-types@0.2.1 [method]answer.degraded";
    assert!(format!("{error:?}").contains(words), "{error:?}");
}

/// A probe type of a draft that finds nothing out, and says in which container.
fn later_prober() -> Vec<u8> {
    let mut wit = Resolve::default();
    for package in ["../../wit/host", "../../tests/guests/next-version/wit/probe"] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/").to_owned() + package;
        wit.push_path(path).expect("the contract is valid");
    }
    let world = "package test:later;\nworld later { include witlet:probe/probe-type@0.3.0-draft.1; }";
    let package = wit.push_source("later.wit", world).expect("the text is a constant of this file");
    let world = wit.select_world(&[package], Some("later")).expect("the text has this world");
    let mut module = wat::parse_str(
        r#"(module
            (import "witlet:probe/types@0.3.0-draft.1" "[method]target.container" (func $container (param i32 i32)))
            (import "witlet:probe/types@0.3.0-draft.1" "[resource-drop]target" (func $drop (param i32)))
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
            (func (export "witlet:probe/prober@0.3.0-draft.1#validate") (param i32 i32) (result i32) (i32.const 1024))
            (func (export "witlet:probe/prober@0.3.0-draft.1#check-parameters") (param i32 i32) (result i32)
                (i32.const 1024))
            (func (export "witlet:probe/prober@0.3.0-draft.1#probe") (param $target i32) (param i32 i32) (result i32)
                (i32.store8 (i32.const 2048) (i32.const 3))
                (call $container (local.get $target) (i32.const 2052))
                (call $drop (local.get $target))
                (i32.const 2048)))"#,
    )
    .expect("the text is a constant of this file");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8)
        .expect("the world can be encoded");
    let mut encoder = ComponentEncoder::default().module(&module).expect("the module fits the world");
    encoder.encode().expect("the module fits the world")
}

#[tokio::test]
async fn a_published_version_and_a_draft_are_served_at_the_same_time() {
    let older = Setting::default().prober();
    let newer = Setting::default().made(&later_prober());
    assert!(newer.validate(Role::Probe).await.is_ok());
    for _ in 0..3 {
        let (old, new) = tokio::join!(ask(&older, r#"{"do": "succeed"}"#), ask(&newer, "null"));
        assert_eq!(old.ok(), Some(ProbeOutcome::Success(String::new())));
        match new {
            Err(CallError::Refused { words }) => assert_eq!(words, "main", "its own way to say nothing"),
            other => panic!("{other:?}"),
        }
    }
}

//! Components of several versions of a contract, side by side.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;
use witlet_core::probe::ProbeOutcome;

use super::node::{Setting, ask};
use crate::plugin::CallError;
use crate::role::Role;

/// A probe type of version 0.2.0 that finds nothing out, and says in which container.
fn later_prober() -> Vec<u8> {
    let mut wit = Resolve::default();
    for package in ["../../wit/host", "../../tests/guests/next-version/wit/probe"] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/").to_owned() + package;
        wit.push_path(path).expect("the contract is valid");
    }
    let world = "package test:later;\nworld later { include witlet:probe/probe-type@0.2.0; }";
    let package = wit.push_source("later.wit", world).expect("the text is a constant of this file");
    let world = wit.select_world(&[package], Some("later")).expect("the text has this world");
    let mut module = wat::parse_str(
        r#"(module
            (import "witlet:probe/types@0.2.0" "[method]target.container" (func $container (param i32 i32)))
            (import "witlet:probe/types@0.2.0" "[resource-drop]target" (func $drop (param i32)))
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
            (func (export "witlet:probe/prober@0.2.0#validate") (param i32 i32) (result i32) (i32.const 1024))
            (func (export "witlet:probe/prober@0.2.0#check-parameters") (param i32 i32) (result i32)
                (i32.const 1024))
            (func (export "witlet:probe/prober@0.2.0#probe") (param $target i32) (param i32 i32) (result i32)
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
async fn an_older_and_a_newer_version_are_served_at_the_same_time() {
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

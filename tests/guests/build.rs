//! Compiles the guest programs of the conformance tests to components.

#![allow(clippy::expect_used, reason = "a build script ends with its first error")]

#[path = "made/encode.rs"]
mod encode;
#[path = "made/forgers.rs"]
mod forgers;
#[path = "made/handlers.rs"]
mod handlers;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    encode();
    let hostile = [
        "witlet-hostile-guest",
        "witlet-loop-at-start-guest",
        "witlet-prober-guest",
        "witlet-sourcer-guest",
        "witlet-intruder-guest",
        "witlet-next-version-guest",
        "witlet-admission-v0-2-guest",
        "witlet-probe-v0-2-guest",
        "witlet-source-v0-2-guest",
        "witlet-policies-v0-1-guest",
        "witlet-witness-guest",
        "witlet-faults-guest",
        "witlet-tattler-guest",
        "witlet-ten-rules-guest",
    ];
    let examples = [
        "pod-folder",
        "no-latest-tag",
        "not-before",
        "policies",
        "postgres-ready",
        "redis-ping",
        "time-window",
        "udp",
        "witlet-example-workloads",
    ];
    let shipped = witlet_build::Guests::new(&["witlet-shipped-v0-2-guest"]).examples().module("shipped.rs");
    match shipped.embed() {
        ExitCode::SUCCESS => witlet_build::Guests::new(&[&hostile[..], &examples[..]].concat()).embed(),
        failure => failure,
    }
}

/// Encodes what is written by hand, and lists it for the crate.
fn encode() {
    println!("cargo::rerun-if-changed=made");
    println!("cargo::rerun-if-changed=../../wit");
    let handlers = handlers::HANDLERS.iter().map(|handler| (handler.name, handler.component()));
    list("HANDLERS", "handlers.rs", handlers);
    let forgers = forgers::FORGERS.iter().map(|forger| (forger.name, forger.component()));
    list("FORGERS", "forgers.rs", forgers);
}

fn list(constant: &str, file: &str, components: impl Iterator<Item = (&'static str, Vec<u8>)>) {
    let folder = std::env::var("OUT_DIR").expect("cargo names the folder");
    let mut list = format!("/// Name and component.\npub(crate) const {constant}: &[(&str, &[u8])] = &[\n");
    for (name, component) in components {
        let path = Path::new(&folder).join(format!("{name}.wasm"));
        std::fs::write(&path, component).expect("cargo's folder is writable");
        writeln!(list, "    ({name:?}, include_bytes!({path:?})),").expect("text can be written to");
    }
    list.push_str("];\n");
    std::fs::write(Path::new(&folder).join(file), list).expect("cargo's folder is writable");
}

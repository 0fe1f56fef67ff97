//! Compiles the guest programs of the conformance tests to components.

#![allow(clippy::expect_used, reason = "a build script ends with its first error")]

#[path = "made/handlers.rs"]
mod handlers;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    encode();
    let hostile =
        ["witlet-hostile-guest", "witlet-loop-at-start-guest", "witlet-prober-guest", "witlet-sourcer-guest"];
    let examples = ["no-latest-tag", "not-before", "witlet-example-workloads"];
    witlet_build::Guests::new(&[&hostile[..], &examples[..]].concat()).embed()
}

/// Encodes the handlers that are written by hand, and lists them for the crate.
fn encode() {
    println!("cargo::rerun-if-changed=made");
    println!("cargo::rerun-if-changed=../../wit");
    let folder = std::env::var("OUT_DIR").expect("cargo names the folder");
    let mut list =
        String::from("/// Name and component.\npub(crate) const HANDLERS: &[(&str, &[u8])] = &[\n");
    for handler in handlers::HANDLERS {
        let file = Path::new(&folder).join(format!("{}.wasm", handler.name));
        std::fs::write(&file, handler.component()).expect("cargo's folder is writable");
        writeln!(list, "    ({:?}, include_bytes!({file:?})),", handler.name)
            .expect("text can be written to");
    }
    list.push_str("];\n");
    std::fs::write(Path::new(&folder).join("handlers.rs"), list).expect("cargo's folder is writable");
}

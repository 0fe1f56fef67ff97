//! Embeds the files of the templates, the contracts, the SDKs, and that of Rust in the form that it has outside this
//! workspace.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a build script ends with its first error, and talks to cargo"
)]

#[path = "build/folder.rs"]
mod folder;
#[path = "build/manifest.rs"]
mod manifest;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the SDK's sources look for the contracts in this repository, and in a project.
const WIT_HERE: &str = "../../../wit/";
/// See [`WIT_HERE`].
const WIT_IN_PROJECT: &str = "../wit/deps/";

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let repository = here.join("../../..");
    let mut text = String::new();
    list(
        &mut text,
        "TEMPLATES",
        "The templates' files, by their paths below `files`.",
        &folder::read(&here.join("files")),
    );
    list(&mut text, "WIT", "The contracts, by their paths below `wit`.", &contracts(&repository));
    list(&mut text, "SDK", "The Rust SDK for a project outside this workspace.", &sdk(&repository));
    let go = folder::read(&repository.join("plugins/sdk/go"));
    list(&mut text, "SDK_GO", "The Go SDK, by the paths below its folder.", &go);
    for (constant, language) in
        [("SDK_PYTHON", "python"), ("SDK_JAVASCRIPT", "javascript"), ("SDK_CPP", "cpp")]
    {
        let module = own_module(&repository.join("plugins/sdk").join(language));
        list(&mut text, constant, "A language's module, by the paths below its folder.", &module);
    }
    fs::write(Path::new(&variable("OUT_DIR")).join("embedded.rs"), text).expect("cargo's folder is writable");
}

/// A module without its tests, which the examples run.
fn own_module(source: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = folder::read(source);
    files.retain(|(path, _)| !path.starts_with("tests/") && !path.starts_with("test/"));
    files
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("cargo sets its variables")
}

/// The contracts alone, of the track that the templates are made for: bindings for C put versions into all names where there are two. What
/// else is in `wit` is about their change in this repository.
fn contracts(repository: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = folder::read(&repository.join("wit"));
    files.retain(|(path, _)| path.ends_with(".wit") && !path.contains("-0."));
    files
}

/// The SDK's files, its manifest without inheritance, its paths to the contracts as they are in a project.
fn sdk(repository: &Path) -> Vec<(String, Vec<u8>)> {
    let root_manifest = repository.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", root_manifest.display());
    let root = fs::read_to_string(&root_manifest).expect("the workspace has a manifest");
    let mut moved = 0;
    let mut files = folder::read(&repository.join("plugins/sdk/guest"));
    for (path, contents) in &mut files {
        let Ok(text) = std::str::from_utf8(contents) else { continue };
        if path == "Cargo.toml" {
            *contents = manifest::standalone(text, &root).into_bytes();
        } else if path.ends_with(".rs") {
            moved += text.matches(WIT_HERE).count();
            *contents = text.replace(WIT_HERE, WIT_IN_PROJECT).into_bytes();
        }
    }
    assert!(moved > 0, "no source of the SDK names {WIT_HERE}: what do its bindings come from?");
    files
}

/// Writes the files into the build's folder and lists them.
fn list(text: &mut String, constant: &str, what: &str, files: &[(String, Vec<u8>)]) {
    let folder = Path::new(&variable("OUT_DIR")).join(constant.to_lowercase());
    fs::create_dir_all(&folder).expect("cargo's folder is writable");
    writeln!(text, "/// {what}\npub(crate) static {constant}: &[(&str, &[u8])] = &[")
        .expect("text can be written to");
    for (at, (path, contents)) in files.iter().enumerate() {
        let copy = folder.join(at.to_string());
        fs::write(&copy, contents).expect("cargo's folder is writable");
        writeln!(text, "    ({path:?}, include_bytes!({copy:?})),").expect("text can be written to");
    }
    text.push_str("];\n");
}

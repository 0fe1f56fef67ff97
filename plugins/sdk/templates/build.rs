//! Embeds the files of the templates, the contracts, the SDKs, and those of Rust in the form that they have outside this
//! workspace.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a build script ends with its first error, and talks to cargo"
)]

#[allow(dead_code, unreachable_pub, reason = "the crate has uses of its own for it")]
#[path = "src/declared.rs"]
mod declared;
#[path = "build/folder.rs"]
mod folder;
#[path = "build/manifest.rs"]
mod manifest;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use declared::Contract;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Where the SDK's sources look for the contracts in this repository, and in a project.
const WIT_HERE: &str = "../../../wit/";
/// See [`WIT_HERE`].
const WIT_IN_PROJECT: &str = "../wit/deps/";
/// Contents by their paths.
type Files = Vec<(String, Vec<u8>)>;

/// How many packages a track has, of one file each.
const PACKAGES: usize = 4;

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
    let contracts =
        Contract::ALL.map(|contract| (contract.as_str().to_owned(), contracts(&repository, contract)));
    lists(&mut text, "WIT", "The contracts of each track, by their paths below `wit`.", &contracts);
    let sdks: BTreeSet<&str> = declared::ALL.iter().flat_map(|it| it.sdks).map(|sdk| sdk.from).collect();
    let sdks: Vec<_> = sdks.into_iter().map(|from| (from.to_owned(), sdk(&repository, from))).collect();
    lists(&mut text, "SDKS", "The SDKs by their folders, their files by the paths below these.", &sdks);
    fs::write(Path::new(&variable("OUT_DIR")).join("embedded.rs"), text).expect("cargo's folder is writable");
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("cargo sets its variables")
}

/// The contracts of one track alone: bindings for C put versions into all names where there are two. What else is in `wit` is about
/// their change in this repository.
fn contracts(repository: &Path, contract: Contract) -> Files {
    let mut files = folder::read(&repository.join("wit"));
    files.retain(|(path, _)| {
        let Some((package, file)) = path.split_once('/') else { return false };
        let name = package.strip_suffix(contract.folder_suffix()).unwrap_or_default();
        !name.is_empty() && !name.contains("-0.") && file.ends_with(".wit")
    });
    assert_eq!(files.len(), PACKAGES, "contract {}", contract.as_str());
    files
}

/// An SDK's files without its tests, which the examples run. In Rust its manifest is without inheritance, and its paths to the contracts
/// are as they are in a project.
fn sdk(repository: &Path, from: &str) -> Files {
    let mut files = folder::read(&repository.join("plugins/sdk").join(from));
    files.retain(|(path, _)| !path.starts_with("tests/") && !path.starts_with("test/"));
    if !files.iter().any(|(path, _)| path == "Cargo.toml") {
        return files;
    }
    let root_manifest = repository.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", root_manifest.display());
    let root = fs::read_to_string(&root_manifest).expect("the workspace has a manifest");
    for (path, contents) in &mut files {
        let Ok(text) = std::str::from_utf8(contents) else { continue };
        if path == "Cargo.toml" {
            *contents = manifest::standalone(text, &root, &|path| placed(from, path)).into_bytes();
        } else if path.ends_with(".rs") {
            assert!(
                text.contains(WIT_HERE) || !text.contains("wit_bindgen::generate!"),
                "{from}/{path} doesn't name {WIT_HERE}: what do its bindings come from?"
            );
            *contents = text.replace(WIT_HERE, WIT_IN_PROJECT).into_bytes();
        }
    }
    files
}

/// Where the crate at a path of this repository is in a project, from the folder of an SDK in it.
fn placed(from: &str, path: &str) -> String {
    let sdks = || declared::ALL.iter().flat_map(|it| it.sdks);
    let to = |from: &str| sdks().find(|sdk| sdk.from == from).map(|sdk| sdk.to);
    let (own, other) = (to(from), path.strip_prefix("plugins/sdk/").and_then(to));
    let below = own.zip(other).and_then(|(own, other)| other.strip_prefix(own)?.strip_prefix('/'));
    below.unwrap_or_else(|| panic!("{from} needs {path}, which no project has below it")).to_owned()
}

/// Lists several lists by their names.
fn lists(text: &mut String, constant: &str, what: &str, named: &[(String, Files)]) {
    let mut all = format!("/// {what}\npub(crate) static {constant}: &[(&str, &LazyLock<Files>)] = &[\n");
    for (at, (name, files)) in named.iter().enumerate() {
        let own = format!("{constant}_{at}");
        list(text, &own, name, files);
        writeln!(all, "    ({name:?}, &{own}),").expect("text can be written to");
    }
    text.push_str(&all);
    text.push_str("];\n");
}

/// Writes the files into the build's folder, deflated as one, and lists them: few runs of the program need them.
fn list(text: &mut String, constant: &str, what: &str, files: &[(String, Vec<u8>)]) {
    let packed = Path::new(&variable("OUT_DIR")).join(constant.to_lowercase());
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
    for (_, contents) in files {
        deflated.write_all(contents).expect("memory can be written to");
    }
    fs::write(&packed, deflated.finish().expect("memory can be written to"))
        .expect("cargo's folder is writable");
    writeln!(text, "/// {what}\npub(crate) static {constant}: LazyLock<Files> = LazyLock::new(|| unpack(&[")
        .expect("text can be written to");
    for (path, contents) in files {
        writeln!(text, "    ({path:?}, {}),", contents.len()).expect("text can be written to");
    }
    writeln!(text, "], include_bytes!({packed:?})));").expect("text can be written to");
}

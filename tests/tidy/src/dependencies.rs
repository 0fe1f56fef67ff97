//! What a crate depends on, it uses: whatever nothing names is only compiled.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{check, files, read, relative, root};

/// Dependencies that no source names, each with the reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    ("proto", "prost", "the code that the build generates uses it"),
    ("proto", "tonic-prost", "the code that the build generates uses it"),
    ("tests/fuzz/targets", "witlet-plugin-cel", "its library is called `cel`, as the handler is"),
    (
        "tests/guests/shipped-v0-2",
        "serde",
        "the files of the shipped handlers use it, which are its examples",
    ),
    (
        "tests/guests/shipped-v0-2",
        "witlet-plugin-sdk",
        "the files of the shipped handlers use it, which are its examples",
    ),
    ("tests/plugin-host", "reqwest", "its feature gives oci-client the TLS that it is built without"),
];

/// The tables of a manifest that name crates.
const TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Names of crates as sources have them, with the table's name.
fn dependencies(manifest: &toml::Table) -> Vec<(String, &'static str)> {
    let for_targets = manifest.get("target").and_then(|t| t.as_table()).into_iter().flatten();
    let places = std::iter::once(manifest).chain(for_targets.filter_map(|(_, of)| of.as_table()));
    let named = places.flat_map(|place| {
        TABLES.iter().flat_map(move |table| {
            let crates = place.get(*table).and_then(|of| of.as_table()).into_iter().flatten();
            crates.map(move |(name, _)| (name.clone(), *table))
        })
    });
    named.collect()
}

/// Whether a source names the crate: in a path, a macro, an import of the whole.
fn names(text: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    text.match_indices(&name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_whole =
            !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':');
        let after = &text[at + name.len()..];
        is_whole && ["::", "!", ";", " as "].iter().any(|end| after.starts_with(end))
    })
}

/// A source without its comments, which tell of crates that aren't used.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The code of each crate, by its folder: what the crate itself is made of, and that with its tests and its build.
fn sources(folders: &[String]) -> BTreeMap<&str, [String; 2]> {
    let mut found: BTreeMap<&str, [String; 2]> = BTreeMap::new();
    for path in files(&root(), ".rs") {
        let name = relative(&path);
        let owner = folders.iter().filter(|folder| name.starts_with(&format!("{folder}/")));
        let Some(owner) = owner.max_by_key(|folder| folder.len()) else { continue };
        let inside = &name[owner.len() + 1..];
        let of_tests =
            ["tests/", "benches/", "build/", "build.rs"].iter().any(|begin| inside.starts_with(begin));
        let of_tests = of_tests || inside.ends_with("/tests.rs") || inside.contains("/tests/");
        let code = code(&read(&path));
        let [itself, all] = found.entry(owner).or_default();
        all.push_str(&code);
        if !of_tests {
            itself.push_str(&code);
        }
    }
    found
}

#[test]
fn every_dependency_is_used() {
    let manifests: Vec<(String, toml::Table)> = files(&root(), "Cargo.toml")
        .into_iter()
        .filter(|path| path.parent() != Some(&*root()))
        .map(|path| {
            let folder = relative(path.parent().unwrap_or(Path::new("")));
            (folder, read(&path).parse().expect("a manifest is TOML"))
        })
        .collect();
    let folders: Vec<String> = manifests.iter().map(|(folder, _)| folder.clone()).collect();
    let sources = sources(&folders);
    let mut findings = Vec::new();
    for (folder, manifest) in &manifests {
        let none = Default::default();
        let [itself, all] = sources.get(folder.as_str()).unwrap_or(&none);
        for (name, table) in dependencies(manifest) {
            let text = if table == "dependencies" { itself } else { all };
            let is_known = UNNAMED.iter().any(|(of, unnamed, _)| of == folder && *unnamed == name);
            if names(text, &name) == is_known {
                let found = if is_known { "is used, and need not be listed" } else { "is not used" };
                findings.push(format!("{folder}: {name} of [{table}] {found}"));
            }
        }
    }
    check("a crate's sources use each of its dependencies", &findings);
}

#[test]
fn every_dependency_of_the_workspace_is_some_crates() {
    let workspace: toml::Table = read(&root().join("Cargo.toml")).parse().expect("a manifest is TOML");
    let shared = workspace.get("workspace").and_then(|w| w.get("dependencies")).and_then(|d| d.as_table());
    let manifests = files(&root(), "Cargo.toml").into_iter().filter(|path| path.parent() != Some(&*root()));
    let used: Vec<String> = manifests
        .flat_map(|path| dependencies(&read(&path).parse().expect("a manifest is TOML")))
        .map(|(name, _)| name)
        .collect();
    let unused = shared.expect("the workspace has dependencies").keys().filter(|name| !used.contains(name));
    check("a crate takes each dependency of the workspace", &unused.cloned().collect::<Vec<_>>());
}

#[test]
fn names_of_crates_are_distinguished() {
    for (text, expected) in [
        ("use serde_json::Value;", true),
        ("serde_json::json!({})", true),
        ("use serde_json;", true),
        ("use serde_json as json;", true),
        ("my_serde_json::x", false),
        ("other::serde_json::x", false),
        ("\"serde_json\"", false),
    ] {
        assert_eq!(names(text, "serde-json"), expected, "{text}");
    }
    assert!(!names(&code("// serde_json::Value"), "serde-json"));
}

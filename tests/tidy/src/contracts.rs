//! The contracts in `wit/`: published files stay as they are, drafts are distinguished from them, and the book explains every function of them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use wit_parser::{FunctionKind, Resolve};

use crate::{check, files, read, relative, root};

mod growth;

/// Where the hashes of published files stand: a line each, `HASH  PATH`.
const FROZEN: &str = "wit/frozen.txt";

/// What the names of drafts' folders and their versions have before their number.
const DRAFT: &str = "-draft.";

/// Chapter of each folder with a package, those first that others need.
const CHAPTERS: &[(&str, &str)] = &[
    ("wit/host", "docs/src/authors/host.md"),
    ("wit/admission", "docs/src/authors/admission.md"),
    ("wit/probe", "docs/src/authors/probe.md"),
    ("wit/pod-source", "docs/src/authors/pod-source.md"),
    ("wit/host-0.2.0", "docs/src/authors/host-0.2.md"),
    ("wit/admission-0.2.0", "docs/src/authors/admission-0.2.md"),
    ("wit/probe-0.2.0", "docs/src/authors/probe-0.2.md"),
    ("wit/pod-source-0.2.0", "docs/src/authors/pod-source-0.2.md"),
];

fn frozen() -> BTreeMap<String, String> {
    let text = read(&root().join(FROZEN));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (hash, path) = line.split_once("  ").expect("a line is HASH, two spaces, PATH");
            (path.to_owned(), hash.to_owned())
        })
        .collect()
}

#[test]
fn published_contracts_are_frozen() {
    let frozen = frozen();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for path in files(&root().join("wit"), ".wit") {
        let name = relative(&path);
        if name.contains(DRAFT) {
            findings.extend(draft_findings(&name, &read(&path), frozen.contains_key(&name)));
            seen.insert(name);
            continue;
        }
        let hash = hex::encode(Sha256::digest(read(&path)));
        match frozen.get(&name) {
            Some(expected) if *expected == hash => {}
            Some(_) => findings.push(format!(
                "{name} was published and may not change: what it should say stands in a new version (wit/README.md)"
            )),
            None => findings.push(format!("{name} isn't in {FROZEN}; once it is released: {hash}  {name}")),
        }
        seen.insert(name);
    }
    let gone = frozen.keys().filter(|name| !seen.contains(*name));
    findings.extend(gone.map(|name| format!("{name} was published and is gone")));
    check("a published contract never changes", &findings);
    assert!(seen.len() >= 4, "the contracts are there: {seen:?}");
}

/// What is wrong with the file of a draft: its folder is named for its package and version, a draft says that it is one, and it
/// isn't published.
fn draft_findings(name: &str, text: &str, is_frozen: bool) -> Vec<String> {
    let mut findings = Vec::new();
    if is_frozen {
        findings.push(format!("{name} is a draft, and {FROZEN} is for published files"));
    }
    let folder = name.split('/').nth(1).unwrap_or_default();
    let package = text.lines().find_map(|line| line.strip_prefix("package witlet:")?.strip_suffix(';'));
    if package.map(|package| package.replace('@', "-")).as_deref() != Some(folder) {
        findings.push(format!("{name} has the package {package:?}, which its folder isn't named for"));
    }
    if !text.contains("A draft: it may change") {
        findings.push(format!("{name} doesn't say that it is a draft"));
    }
    findings
}

#[test]
fn drafts_are_distinguished() {
    let good = "/// A draft: it may change.\npackage witlet:host@0.3.0-draft.1;\n";
    let name = "wit/host-0.3.0-draft.1/host.wit";
    assert_eq!(draft_findings(name, good, false), [""; 0]);
    assert_eq!(draft_findings(name, good, true).len(), 1, "it is published");
    assert_eq!(draft_findings("wit/host-0.3.0-draft.2/host.wit", good, false).len(), 1, "another draft");
    assert_eq!(draft_findings(name, "package witlet:host@0.2.0;", false).len(), 2, "no draft");
}

/// The functions of each chapter's package: `log.write`, `pod.labels`. A resource's functions go by the resource's name.
fn functions() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut resolve = Resolve::default();
    let mut found: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for (folder, chapter) in CHAPTERS {
        for path in files(&root().join(folder), ".wit") {
            let package = resolve.push_source(&relative(&path), &read(&path));
            let package = package.expect("a contract is WIT and fits to those before");
            for id in resolve.packages[package].interfaces.values() {
                let interface = &resolve.interfaces[*id];
                for function in interface.functions.values() {
                    let (owner, item) = match function.kind {
                        FunctionKind::Method(resource) => {
                            (&resolve.types[resource].name, function.item_name())
                        }
                        FunctionKind::Constructor(resource) => (&resolve.types[resource].name, "constructor"),
                        _ => (&interface.name, function.item_name()),
                    };
                    let name = format!("{}.{item}", owner.as_deref().unwrap_or_default());
                    found.entry(*chapter).or_default().insert(name);
                }
            }
        }
    }
    found
}

#[test]
fn the_book_explains_every_fact() {
    let text = read(&root().join("docs/src/authors/admission-0.2.md"));
    let keys = read(&root().join("host/core/src/node/facts.rs"));
    let keys = keys.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1));
    // `runtime` is what the keys of the runtime begin with.
    let keys: Vec<&str> = keys.filter(|key| *key != "runtime").collect();
    let is_there =
        |key: &str| text.contains(&format!("| `{key}` |")) || text.contains(&format!("| `{key}.<"));
    let findings: Vec<&str> = keys.iter().filter(|key| !is_there(key)).copied().collect();
    check("each key of node.facts has a row", &findings.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert!(keys.len() > 10, "{keys:?}");
}

#[test]
fn every_contract_has_a_chapter() {
    let explained = |name: &str| CHAPTERS.iter().any(|(folder, _)| name.starts_with(&format!("{folder}/")));
    let contracts = files(&root().join("wit"), ".wit").into_iter().map(|path| relative(&path));
    let findings: Vec<String> = contracts.filter(|name| !explained(name)).collect();
    check("each contract has a chapter in CHAPTERS", &findings);
}

#[test]
fn the_book_explains_every_function_and_no_other() {
    let mut findings = Vec::new();
    for (chapter, functions) in functions() {
        let text = read(&root().join(chapter));
        // Keys of facts have points, too.
        let text = text.split("### Facts").next().unwrap_or_default();
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let reported: BTreeSet<String> = rows.filter(|name| name.contains('.')).map(str::to_owned).collect();
        findings
            .extend(functions.difference(&reported).map(|name| format!("{chapter} doesn't explain {name}")));
        findings.extend(
            reported
                .difference(&functions)
                .map(|name| format!("{chapter} explains {name}, which isn't there")),
        );
    }
    check("each function of the contracts has a row in its chapter", &findings);
}

/// The cases of a guest of each role that calls all functions, by the chapter of the role's contract. `tests/plugin-host` carries them out.
const CASES: &[(&str, &str)] = &[
    ("docs/src/authors/admission-0.2.md", "tests/guests/admission-v0-2/cases.yaml"),
    ("docs/src/authors/probe-0.2.md", "tests/guests/probe-v0-2/cases.yaml"),
    ("docs/src/authors/pod-source-0.2.md", "tests/guests/source-v0-2/cases.yaml"),
];

/// The functions that a file says to show, above the cases that do.
fn shown(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("# Shows: "));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

#[test]
fn every_function_of_0_2_is_shown_by_a_case() {
    let functions = functions();
    let of_host = &functions["docs/src/authors/host-0.2.md"];
    let (mut findings, mut all) = (Vec::new(), BTreeSet::new());
    for (chapter, path) in CASES {
        let (own, shown) = (&functions[chapter], shown(&read(&root().join(path))));
        findings.extend(own.difference(&shown).map(|name| format!("{path} has no case for {name}")));
        let unknown = shown.iter().filter(|name| !own.contains(*name) && !of_host.contains(*name));
        findings.extend(unknown.map(|name| format!("{path} names {name}, which isn't there")));
        all.extend(shown);
    }
    findings
        .extend(of_host.difference(&all).map(|name| format!("no file has a case for {name} of the host")));
    check("each function of contract 0.2 is shown by a case of a guest in Rust", &findings);
}

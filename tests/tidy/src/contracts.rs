//! The contracts in `wit/`: published files stay as they are, and the book explains every function of them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use wit_parser::{FunctionKind, Resolve};

use crate::{check, files, read, relative, root};

/// Where the hashes of published files stand: a line each, `HASH  PATH`.
const FROZEN: &str = "wit/frozen.txt";

/// Chapter of each package.
const CHAPTERS: &[(&str, &str)] = &[
    ("host", "docs/src/authors/host.md"),
    ("admission", "docs/src/authors/admission.md"),
    ("probe", "docs/src/authors/probe.md"),
    ("pod-source", "docs/src/authors/pod-source.md"),
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
        let hash: String = Sha256::digest(read(&path)).iter().map(|byte| format!("{byte:02x}")).collect();
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

/// The functions of each package: `log.write`, `pod.labels`. A resource's functions go by the resource's name.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut resolve = Resolve::default();
    for (package, _) in CHAPTERS {
        let path = format!("wit/{package}/{package}.wit");
        let text = read(&root().join(&path));
        resolve.push_source(&path, &text).expect("a contract is WIT and fits to those before");
    }
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, package) in &resolve.packages {
        for id in package.interfaces.values() {
            let interface = &resolve.interfaces[*id];
            for function in interface.functions.values() {
                let owner = match function.kind {
                    FunctionKind::Method(resource) => resolve.types[resource].name.clone(),
                    _ => interface.name.clone(),
                };
                let name = format!("{}.{}", owner.unwrap_or_default(), function.item_name());
                found.entry(package.name.name.clone()).or_default().insert(name);
            }
        }
    }
    found
}

#[test]
fn the_book_explains_every_function_and_no_other() {
    let mut findings = Vec::new();
    for (package, functions) in functions() {
        let (_, chapter) =
            CHAPTERS.iter().find(|(name, _)| *name == package).expect("a package has a chapter");
        let text = read(&root().join(chapter));
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

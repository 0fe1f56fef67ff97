//! What `tests/rings.md` promises: each case of the outer rings has its rule shown in the inner one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{check, files, quoted, read, relative, root};

const TABLE: &str = "tests/rings.md";

/// Cases of this suite, too, are more in an outer ring, though `make test` doesn't leave it out.
const MORE_IN_OUTER_RING: &str = "tests/languages/suite";

/// A case's name has more words than anything else in quotation marks of the same letters.
const WORDS_MIN: usize = 4;

/// Says of a row that only real programs show all of it.
const NOT_ON_FAKES: &str = "Not on fakes: ";

/// A list of cases that a row stands for, and the suites that go through all of it: outer and inner.
const LISTS: &[(&str, &[(&str, &str)])] = &[
    (
        "CASES",
        &[
            ("tests/contracts/src/lib.rs", "for case in CASES"),
            ("tests/containerd/src/contract.rs", "CASES.iter().map(|case| trial("),
            ("tests/scenarios/src/contracts.rs", "run_all(&runtime.ports(), &environment)"),
            ("tests/scenarios/src/contracts.rs", "eq(NEEDS_PROCESSES)"),
            ("tests/embedded-runtime/src/contract.rs", "NEEDS_REGISTRY.contains(&case.name)"),
        ],
    ),
    (
        "SCENARIOS",
        &[
            ("tests/daemon/src/main.rs", "SCENARIOS.iter().enumerate()"),
            ("tests/scenarios/src/everywhere.rs", "for scenario in SCENARIOS"),
        ],
    ),
];

/// Where [`LISTS`]' scenarios are, by groups.
const SCENARIOS: &str = "host/testkit/src/scenarios.rs";
/// How a group begins that is played on fakes, and one that is skipped there.
const PLAYED: &str = "needs_programs = false {";
const SKIPPED: &str = "needs_programs = true {";

/// The cases that have a row of three columns, each with the last of them.
fn rows() -> Vec<(String, String)> {
    let text = read(&root().join(TABLE));
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, case, _, inner, _] = cells[..] else { return None };
        let case = quoted(case).first()?.clone();
        let is_case = case.contains('_') || LISTS.iter().any(|(list, _)| *list == case);
        is_case.then(|| (case, inner.to_owned()))
    });
    rows.collect()
}

/// The inner cases that the document names: crate and case.
fn inner_cases(text: &str) -> Vec<(String, String)> {
    let names = quoted(text);
    names
        .iter()
        .filter_map(|name| name.split_once("::"))
        .map(|(of, name)| (of.to_owned(), name.to_owned()))
        .collect()
}

/// The words behind `NAME :=` in the Makefile.
fn variable(makefile: &str, name: &str) -> Vec<String> {
    let line = makefile.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" :="));
    line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The folder of each crate.
fn crates() -> BTreeMap<String, PathBuf> {
    let manifests = files(&root(), "Cargo.toml").into_iter();
    manifests
        .filter_map(|path| {
            let table: toml::Table = read(&path).parse().expect("a manifest is TOML");
            let name = table.get("package")?.get("name")?.as_str()?.to_owned();
            Some((name, path.parent()?.to_owned()))
        })
        .collect()
}

/// The sources of a crate, without those of crates in folders below it.
fn sources(folder: &Path, crates: &BTreeMap<String, PathBuf>) -> Vec<String> {
    let below = |path: &&PathBuf| {
        let others = crates.values().filter(|other| *other != folder && other.starts_with(folder));
        others.into_iter().all(|other| !path.starts_with(other))
    };
    files(folder, ".rs").iter().filter(below).map(|path| read(path)).collect()
}

fn is_name(text: &str) -> bool {
    let words = text.split('_').filter(|word| !word.is_empty());
    words.count() >= WORDS_MIN
        && text
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_{}".contains(letter))
}

/// A case's name without the group that it is shown in.
fn bare(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Names of cases in the texts of a source.
fn named_cases(text: &str) -> impl Iterator<Item = String> {
    text.split('"').map(bare).filter(|name| is_name(name)).map(str::to_owned)
}

/// The scenarios of the groups that begin so.
fn scenarios(begin: &str) -> BTreeSet<String> {
    let text = read(&root().join(SCENARIOS));
    let groups = text.split(begin).skip(1).filter_map(|rest| rest.split('}').next());
    groups
        .flat_map(|group| group.split(','))
        .map(|name| name.trim().to_owned())
        .filter(|n| is_name(n))
        .collect()
}

/// All cases of the outer rings that need a row.
fn outer_cases(outer: &[String], crates: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let suites = outer.iter().filter_map(|name| crates.get(name));
    let mut cases = scenarios(SKIPPED);
    for folder in suites.cloned().chain([root().join(MORE_IN_OUTER_RING)]) {
        for text in sources(&folder, crates) {
            cases.extend(named_cases(&text));
        }
    }
    for (list, _) in LISTS {
        cases.insert((*list).to_owned());
    }
    cases
}

/// The tests of a source: functions with the attribute, and cases that a suite names by itself.
fn tests(text: &str) -> impl Iterator<Item = String> {
    let mut is_marked = false;
    let marked = text.lines().filter_map(move |line| {
        let line = line.trim_start();
        let was_marked = is_marked;
        let begins = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        is_marked = begins || was_marked && (line.starts_with("#[") || line.starts_with("//"));
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?.split('(').next()?;
        was_marked.then(|| name.to_owned())
    });
    let claims = text.split("claims!(").skip(1).filter_map(|rest| rest.split(')').next());
    let claimed = claims.flat_map(|claims| claims.split(',')).map(|name| name.trim().to_owned());
    marked.chain(claimed).chain(named_cases(text))
}

#[test]
fn every_case_of_an_outer_ring_has_a_row_and_no_other_has() {
    let outer = variable(&read(&root().join("Makefile")), "OUTER");
    let cases = outer_cases(&outer, &crates());
    let rows: BTreeSet<String> = rows().into_iter().map(|(case, _)| case).collect();
    let in_both = |case: &String| read(&root().join(TABLE)).contains(&format!("-suite::{case}`"));
    let of_a_list = scenarios(PLAYED);
    let missing = cases.difference(&rows).filter(|case| !of_a_list.contains(*case));
    let mut findings: Vec<String> = missing.map(|case| format!("{TABLE} has no row for {case}")).collect();
    let gone = rows.difference(&cases).filter(|case| !in_both(case));
    findings.extend(
        gone.map(|case| format!("{TABLE} has a row for {case}, which isn't a case of an outer ring")),
    );
    check("each case of `make test-node` and `make soak` has a row", &findings);
    assert!(cases.len() > 50, "the cases are found: {cases:?}");
}

#[test]
fn every_row_names_tests_of_the_inner_ring() {
    let outer = variable(&read(&root().join("Makefile")), "OUTER");
    let crates = crates();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (case, inner) in rows() {
        if inner_cases(&inner).is_empty() && !inner.contains(NOT_ON_FAKES) {
            findings.push(format!("{case}: neither an inner case nor `{NOT_ON_FAKES}`"));
        }
    }
    for (of, name) in inner_cases(&read(&root().join(TABLE))) {
        let Some(folder) = crates.get(&of).filter(|_| !outer.contains(&of)) else {
            findings.push(format!("{of}::{name}: no crate of the inner ring"));
            continue;
        };
        let known = known.entry(of).or_insert_with(|| {
            sources(folder, &crates).iter().flat_map(|text| tests(text).collect::<Vec<_>>()).collect()
        });
        if !known.contains(&name) {
            findings.push(format!("{} has no test {name}", relative(folder)));
        }
    }
    check("a row names tests that there are", &findings);
}

#[test]
fn every_suite_of_an_outer_ring_has_a_chapter() {
    let makefile = read(&root().join("Makefile"));
    let named = quoted(&read(&root().join(TABLE)));
    let suites = ["NODE_SUITES", "SOAK_SUITES"].into_iter().flat_map(|name| variable(&makefile, name));
    let missing: Vec<String> = suites.filter(|suite| *suite != "--test" && !named.contains(suite)).collect();
    check("a suite of the Makefile's outer rings is named", &missing);
}

#[test]
fn lists_that_rings_share_are_run_whole_by_each() {
    let mut findings = Vec::new();
    for (list, places) in LISTS {
        for (path, words) in *places {
            if !read(&root().join(path)).contains(words) {
                findings.push(format!("{path} doesn't run {list} by `{words}`"));
            }
        }
    }
    check("a row for a whole list stands on suites that run the whole list", &findings);
}

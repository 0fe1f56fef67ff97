//! What ARCHITECTURE.md says of parts that a library could do: each names a test that shows what the library can't.

use std::collections::BTreeSet;

use crate::{check, files, quoted, read, relative, root};

/// The section with the table.
const SECTION: &str = "## Kept by hand";

/// The cells of each row: part, library, reason.
fn rows(architecture: &str) -> Vec<Vec<&str>> {
    let section = architecture.split(SECTION).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Part "));
    rows.map(|line| line.split('|').map(str::trim).collect()).collect()
}

/// The name of a test has more words than other names in quotation marks.
fn is_case(name: &str) -> bool {
    name.split('_').count() > 3
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

#[test]
fn parts_kept_by_hand_name_tests_that_exist() {
    let sources = files(&root(), ".rs");
    let paths: Vec<String> = sources.iter().map(|path| relative(path)).collect();
    let texts: Vec<String> = sources.iter().map(|path| read(path)).collect();
    let cases: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split("fn ").skip(1))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let rows = rows(&architecture);
    assert!(rows.len() > 10, "{SECTION} has {} rows", rows.len());
    let mut findings = Vec::new();
    for row in rows {
        let [_, part, _, reason, _] = row[..] else {
            findings.push(format!("a row hasn't three columns: {}", row.join(" | ")));
            continue;
        };
        let names = quoted(reason);
        // A file of tests, or of a suite.
        let is_file = |name: &&String| name.ends_with(".rs") && name.contains("tests");
        let named = names.iter().filter(|name| is_case(name)).collect::<Vec<_>>();
        let suites = names.iter().filter(is_file).collect::<Vec<_>>();
        if named.is_empty() && suites.is_empty() {
            findings.push(format!("{part}: no test"));
        }
        let gone = named.iter().filter(|name| !cases.contains(name.as_str()));
        findings.extend(gone.map(|name| format!("{part}: there is no test {name}")));
        let gone = suites.iter().filter(|name| !paths.iter().any(|path| path.ends_with(name.as_str())));
        findings.extend(gone.map(|name| format!("{part}: there is no file {name}")));
    }
    check("a part that is kept by hand has a test that shows why", &findings);
}

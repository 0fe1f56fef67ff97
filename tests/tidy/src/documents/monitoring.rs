//! What the dashboard and the rules in `examples/monitoring` read.

use std::collections::BTreeSet;

use crate::{check, read, root};

/// What names of families begin with.
const BEGINNINGS: &[&str] = &["kubelet_", "witlet_", "rest_client_", "process_"];

/// The families that a text names: words of their characters, not those within names of recorded series.
fn families(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | ':');
    let words = text.split(|character| !is_part(character));
    let families = words.filter(|word| BEGINNINGS.iter().any(|begin| word.starts_with(begin)));
    families.map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned()).collect()
}

/// Series that the rules record.
fn recorded(rules: &str) -> BTreeSet<&str> {
    rules.lines().filter_map(|line| line.trim().strip_prefix("- record: ")).collect()
}

#[test]
fn the_dashboard_and_the_rules_read_families_that_are_served() {
    let folder = root().join("examples/monitoring");
    let (rules, dashboard) = (read(&folder.join("rules.yaml")), read(&folder.join("dashboard.json")));
    let of_kubelets = read(&folder.join("kubelet-rules.yaml"));
    let book = root().join("docs/src");
    let served = families(&(read(&book.join("metrics.md")) + &read(&book.join("watching.md"))));
    let named = [&rules, &of_kubelets, &dashboard].into_iter().flat_map(|text| families(text));
    let findings: Vec<String> = named.filter(|name| !served.contains(name)).collect();
    check("a family that is read in examples/monitoring stands in the book", &findings);
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | ':');
    let words = dashboard.split(|character| !is_part(character));
    let series = words.filter(|word| word.contains(':') && word.starts_with("instance"));
    let known = recorded(&rules);
    let findings: Vec<String> = series.filter(|name| !known.contains(name)).map(str::to_owned).collect();
    check("a recorded series that the dashboard reads is one of the rules", &findings);
}

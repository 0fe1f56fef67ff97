//! The operator's book as a whole: its summary and the links between its sections.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{check, files, read, relative, root};

fn chapters() -> Vec<PathBuf> {
    files(&root().join("docs/src"), ".md")
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    let linked: BTreeSet<&str> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let missing: Vec<String> = chapters()
        .iter()
        .filter_map(|path| relative(path).strip_prefix("docs/src/").map(str::to_owned))
        .filter(|name| name != "SUMMARY.md" && !linked.contains(name.as_str()))
        .collect();
    check("a chapter that isn't in docs/src/SUMMARY.md is in no book", &missing);
}

/// As books and repositories make anchors of headings.
fn anchors(path: &Path) -> BTreeSet<String> {
    let slug = |heading: &str| -> String {
        let kept = heading.trim().chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let text = read(path);
    text.lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn links_to_sections_lead_to_them() {
    let mut findings = Vec::new();
    for path in chapters() {
        let text = read(&path);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let Some((file, anchor)) = target.split_once('#') else { continue };
            let to = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            if !to.exists() || !anchors(&to).contains(anchor) {
                findings.push(format!("{} links to {target}", relative(&path)));
            }
        }
    }
    check("a link to a section leads to one", &findings);
}

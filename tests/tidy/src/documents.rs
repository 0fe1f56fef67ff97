//! What the documents promise.

mod book;
mod by_hand;
mod monitoring;
mod walks;

use std::path::Path;

use crate::{check, files, quoted, read, relative, root};

/// Folders at the top that a path in a document may begin with.
const TOP: &[&str] = &["host/", "wit/", "plugins/", "proto/", "tests/", "examples/", "docs/", ".ci/"];

/// Paths that every project of a plugin author has (`plugins/sdk/templates` renders them), and chapters for authors name.
const IN_PROJECTS: &[&str] = &["wit/world.wit", "wit/wasi.wit", "wit/deps"];

/// Whether this reads as a path of the repository rather than as a pattern or a command.
fn is_path(text: &str) -> bool {
    TOP.iter().any(|top| text.starts_with(top)) && !text.contains(['<', '*', ' ', '{', '…'])
}

#[test]
fn paths_in_documents_exist() {
    let mut findings = Vec::new();
    for path in files(&root(), ".md") {
        for name in quoted(&read(&path)).iter().filter(|name| is_path(name)) {
            let file = name.split(':').next().unwrap_or(name);
            let sibling = path.parent().unwrap_or(Path::new(".")).join(file);
            if !IN_PROJECTS.contains(&file) && !root().join(file).exists() && !sibling.exists() {
                findings.push(format!("{} names {name}", relative(&path)));
            }
        }
    }
    check("a path that a document names exists", &findings);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut findings = Vec::new();
    for path in files(&root(), ".md") {
        let text = read(&path);
        let folder = path.parent().unwrap_or(Path::new("."));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or(target);
            let local = !file.is_empty() && !file.contains("://");
            if local && !folder.join(file).exists() {
                findings.push(format!("{} links to {target}", relative(&path)));
            }
        }
    }
    check("a link to a file leads to one", &findings);
}

#[test]
fn the_code_map_names_every_crate() {
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let mut findings = Vec::new();
    for path in files(&root(), "Cargo.toml") {
        let folder = relative(path.parent().expect("a manifest lies in a folder"));
        if folder != root().display().to_string()
            && !folder.is_empty()
            && !architecture.contains(&format!("`{folder}`"))
        {
            findings.push(folder);
        }
    }
    check("ARCHITECTURE.md has a line for each crate's folder", &findings);
}

/// A new reader reads no more; the rest is the book's.
const README_LINES_MAX: usize = 150;

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(
        lines <= README_LINES_MAX,
        "README.md has {lines} lines, more than {README_LINES_MAX}: details go into the book"
    );
}

#[test]
fn every_make_target_is_explained() {
    let makefile = read(&root().join("Makefile"));
    let mut findings = Vec::new();
    for target in ["demo", "install", "uninstall", "test", "bench", "soak", "lint", "help"] {
        if !makefile.lines().any(|line| line.starts_with(&format!("{target}:")) && line.contains("## ")) {
            findings.push(target.to_owned());
        }
    }
    check("`make help` can say what each target does", &findings);
}

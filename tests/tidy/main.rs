//! The rules of the tree that no compiler checks: which crate may import which, how long files get, that modules
//! say what they are for, and that documents name things which exist.
#![allow(clippy::panic, reason = "a test program fails by panicking")]

mod arrows;
mod contracts;
mod documents;
mod sources;

use std::path::{Path, PathBuf};

/// The repository's top folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Folders that hold what tools make, and the templates of projects, which are no part of this one yet.
const NOT_SOURCES: &[&str] = &[
    "target",
    ".git",
    "node_modules",
    ".venv",
    ".tools",
    "__pycache__",
    ".mypy_cache",
    "plugins/templates/files",
];

/// All files under `folder` with this ending, without build output; paths relative to the top.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).expect("a folder of the repository").map(|e| e.expect("an entry"))
        {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let generated = NOT_SOURCES.iter().any(|part| path.ends_with(part));
            // A link leads to what is listed anyway.
            if path.is_dir() && !path.is_symlink() {
                folders.extend((!generated).then_some(path));
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// Fails with all findings at once.
fn check(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

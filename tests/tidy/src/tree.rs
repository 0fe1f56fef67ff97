//! The files of the repository, and how findings are shown.

use std::path::{Path, PathBuf};

/// The repository's top folder.
///
/// # Panics
/// When it isn't where it was built.
pub fn root() -> PathBuf {
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
    "plugins/sdk/templates/files",
];

/// All files under `folder` with this ending, without build output, sorted.
///
/// # Panics
/// When a folder can't be read.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
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

/// The text of a file.
///
/// # Panics
/// When it can't be read.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// Fails with all findings at once.
///
/// # Panics
/// When there is a finding.
pub fn check(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

/// A path as seen from the top folder.
pub fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

//! Reads a folder of sources, without what builds leave in it.

use std::fs;
use std::path::Path;

/// Names of folders that builds make.
const LEFTOVER_FOLDERS: &[&str] = &[
    "node_modules",
    ".venv",
    ".tools",
    "target",
    "dist",
    "obj",
    "bindings",
    "types",
    "__pycache__",
    ".mypy_cache",
];
/// Endings of files that builds make.
const LEFTOVER_ENDINGS: &[&str] = &[".wasm", ".pyc"];

/// All files below the folder, by their paths in it, sorted. Cargo checks it again when it changes.
pub(crate) fn read(folder: &Path) -> Vec<(String, Vec<u8>)> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(folder, "", &mut files);
    files.sort();
    files
}

fn collect(folder: &Path, below: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|cause| panic!("{}: {cause}", folder.display())) {
        let entry = entry.expect("an entry of a folder");
        let name = entry.file_name().into_string().expect("names of sources are text");
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.path().is_dir() {
            if !LEFTOVER_FOLDERS.contains(&name.as_str()) {
                collect(&entry.path(), &path, files);
            }
        } else if !LEFTOVER_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            let contents = fs::read(entry.path()).unwrap_or_else(|cause| panic!("{path}: {cause}"));
            files.push((path, contents));
        }
    }
}

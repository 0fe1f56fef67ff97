//! Whose a file of a project is once the project is made.

/// Who changes a file of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The template: a later release brings a newer one. An author may change it all the same.
    Template,
    /// The author: the template's is an example to begin with.
    Author,
}

/// Folders of the template's.
const FOLDERS: &[&str] = &[".github/", "lib/", "sdk/", "sdk-0.2/", "src/sdk/", "wasi/", "wit/"];
/// Files of the template's: how the project is built, and what is pinned for that.
const FILES: &[&str] = &[
    ".gitignore",
    ".npmrc",
    "Cargo.lock",
    "Cargo.toml",
    "Makefile",
    "go.mod",
    "package-lock.json",
    "package.json",
    "plugin.mk",
    "pyproject.toml",
    "requirements.txt",
    "rust-toolchain.toml",
    "tsconfig.json",
];

/// Whose the file at this path of a project is, in any language.
pub fn owner(path: &str) -> Owner {
    let is_templates = FILES.contains(&path) || FOLDERS.iter().any(|folder| path.starts_with(folder));
    if is_templates { Owner::Template } else { Owner::Author }
}

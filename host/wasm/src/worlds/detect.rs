//! Finds a component's role and version from what it exports, and what in its imports this host can't give.

use std::fmt;

use super::admission::{self, Version};
use crate::guest::printable;

/// Longest list of names in a message.
const NAMES_MAX: usize = 16;
/// How much of a foreign name is told.
const NAME_BYTES_MAX: usize = 128;
/// How many imports a component may have; the interpreters of Python and JavaScript have thirty.
const IMPORTS_MAX: usize = 256;
/// Interfaces of this project that every plugin may import, with their versions.
const GIVEN: [&str; 3] =
    ["witlet:host/log@0.1.0", "witlet:host/config@0.1.0", "witlet:admission/types@0.1.0"];
/// Roles that the design has and this release doesn't.
const LATER_ROLES: [&str; 2] = ["witlet:probe/", "witlet:pod-source/"];
/// The packages of WASI 0.2 that link as they are; other WASI interfaces link as refusals.
const WASI_BASIC: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

/// What a component is, as far as this host can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) version: Version,
    /// WASI interfaces to be linked as refusals.
    pub(crate) denied: Vec<String>,
}

/// One thing that keeps a component from being linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// No role of this project is among the exports.
    WrongWorld { exports: Vec<String> },
    /// A role that this release doesn't have.
    LaterRole { export: String },
    /// A role in a version that this host doesn't serve.
    Version { export: String },
    /// A capability of this project that isn't granted or doesn't exist in this version.
    Capability { import: String },
    /// An import that nobody here can give.
    UnknownImport { import: String },
    /// More obstacles than anybody wants to read.
    More { obstacles: usize },
    /// Nothing that anybody builds has so many imports, and each one costs time.
    TooManyImports,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongWorld { exports } if exports.is_empty() => {
                write!(f, "it exports nothing; an admission handler exports {}@0.1.0", admission::HANDLER)
            }
            Self::WrongWorld { exports } => write!(
                f,
                "it is no plugin: it exports {}; an admission handler exports {}@0.1.0",
                exports.join(", "),
                admission::HANDLER
            ),
            Self::LaterRole { export } => {
                write!(f, "it exports {export}, a role that this release doesn't have")
            }
            Self::Version { export } => write!(
                f,
                "it exports {export}, but this host serves version {}",
                admission::VERSIONS.join(", ")
            ),
            Self::Capability { import } => write!(f, "it imports {import}, which isn't granted"),
            Self::UnknownImport { import } => write!(f, "it imports {import}, which nobody here provides"),
            Self::More { obstacles } => write!(f, "and {obstacles} more"),
            Self::TooManyImports => write!(f, "it has more than {IMPORTS_MAX} imports"),
        }
    }
}

/// Looks at the names of all imports and exports. Reports everything that is in the way, not only the first.
pub(crate) fn detect<'a>(
    imports: impl IntoIterator<Item = &'a str>,
    exports: impl IntoIterator<Item = &'a str>,
) -> Result<Detected, Vec<Obstacle>> {
    let exports: Vec<&str> = exports.into_iter().collect();
    let mut obstacles = Vec::new();
    let version = match role(&exports) {
        Ok(version) => Some(version),
        Err(found) => {
            obstacles.extend(found);
            None
        }
    };
    let mut denied = Vec::new();
    for (number, import) in imports.into_iter().enumerate() {
        if number >= IMPORTS_MAX {
            obstacles.push(Obstacle::TooManyImports);
            break;
        }
        if GIVEN.contains(&import) || WASI_BASIC.iter().any(|package| import.starts_with(package)) {
        } else if import.starts_with("wasi:") {
            denied.push(import.to_owned());
        } else if import.starts_with("witlet:") {
            obstacles.push(Obstacle::Capability { import: told(import) });
        } else {
            obstacles.push(Obstacle::UnknownImport { import: told(import) });
        }
    }
    if obstacles.len() > NAMES_MAX {
        let more = obstacles.len() - NAMES_MAX;
        obstacles.truncate(NAMES_MAX);
        obstacles.push(Obstacle::More { obstacles: more });
    }
    match version {
        Some(version) if obstacles.is_empty() => Ok(Detected { version, denied }),
        Some(_) | None => Err(obstacles),
    }
}

/// A name as it is told to people: whoever made the component chose it.
fn told(name: &str) -> String {
    printable(name, NAME_BYTES_MAX)
}

fn role(exports: &[&str]) -> Result<Version, Vec<Obstacle>> {
    let mut obstacles = Vec::new();
    for export in exports {
        if let Some((admission::HANDLER, version)) = export.split_once('@') {
            match Version::serving(version) {
                Some(version) => return Ok(version),
                None => obstacles.push(Obstacle::Version { export: told(export) }),
            }
        } else if LATER_ROLES.iter().any(|role| export.starts_with(role)) {
            obstacles.push(Obstacle::LaterRole { export: told(export) });
        }
    }
    if obstacles.is_empty() {
        let exports = exports.iter().take(NAMES_MAX).map(|name| told(name)).collect();
        obstacles.push(Obstacle::WrongWorld { exports });
    }
    Err(obstacles)
}

#[cfg(test)]
mod tests;

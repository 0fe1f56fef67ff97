//! The file of a project that says of which template it is: written by `witlet plugin new`, read by `witlet plugin upgrade`.

use std::collections::BTreeMap;

use semver::Version;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use witlet_templates::{File, Language, Name, Owner, Role, owner};
use witlet_wasm::record::replay::digest_of;

/// The file's name, at the top of a project. It belongs into version control.
pub(crate) const PROJECT_FILE: &str = ".witlet-template.json";
/// How large the file may be.
pub(crate) const PROJECT_FILE_BYTES_MAX: u64 = 1 << 20;

const API_VERSION: &str = "witlet.dev/v1alpha1";
const KIND: &str = "PluginProject";
/// For who finds the file.
const NOTE: &str = "Of which template this project is, with the SHA-256 of each file that `witlet plugin upgrade` replaces while it is \
                    unchanged. Commit it.";
/// This release.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// SHA-256 in hexadecimal, by the paths of files.
pub(crate) type Digests = BTreeMap<String, String>;

/// Of which template a project is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// The release whose template it is.
    pub(crate) version: String,
    pub(crate) name: Name,
    pub(crate) language: Language,
    pub(crate) role: Role,
    /// The template's own files as that release had them.
    pub(crate) files: Digests,
}

/// As it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    api_version: String,
    kind: String,
    #[serde(default)]
    note: String,
    witlet: String,
    name: String,
    language: String,
    role: String,
    files: Digests,
}

/// Why a text isn't what this release reads.
#[derive(Debug, Error)]
pub(crate) enum ProjectFileError {
    /// It is no such document.
    #[error("expected kind {KIND} of {API_VERSION}")]
    Format(#[source] serde_json::Error),
    /// Of another kind, or of a release that writes another form.
    #[error("expected kind {KIND} of {API_VERSION}, found {kind} of {api_version}")]
    Kind { kind: String, api_version: String },
    /// A field has a value that there isn't.
    #[error("{field}: found {found:?}, expected {expected}")]
    Field { field: &'static str, found: String, expected: &'static str },
}

impl Project {
    /// A project with these files of the present release.
    pub(crate) fn new(name: Name, language: Language, role: Role, files: &[File]) -> Self {
        Self { version: VERSION.to_owned(), name, language, role, files: digests(files) }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> File {
        let document = Document {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            note: NOTE.to_owned(),
            witlet: self.version.clone(),
            name: self.name.to_string(),
            language: self.language.as_str().to_owned(),
            role: self.role.as_str().to_owned(),
            files: self.files.clone(),
        };
        // Texts alone always have a JSON form.
        let mut contents = serde_json::to_vec_pretty(&document).unwrap_or_default();
        contents.push(b'\n');
        File { path: PROJECT_FILE.to_owned(), contents, executable: false }
    }

    /// Reads the file's text.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, ProjectFileError> {
        let document: Document = serde_json::from_slice(text).map_err(ProjectFileError::Format)?;
        let Document { api_version, kind, note: _, witlet, name, language, role, files } = document;
        if kind != KIND || api_version != API_VERSION {
            return Err(ProjectFileError::Kind { kind, api_version });
        }
        let refused = |field, found: &str, expected| ProjectFileError::Field {
            field,
            found: found.to_owned(),
            expected,
        };
        if release(&witlet).is_none() {
            return Err(refused("witlet", &witlet, "a version, such as 0.1.0"));
        }
        if let Some(path) = files.keys().find(|path| !is_inside(path)) {
            return Err(refused("files", path, "paths of files in the project's folder"));
        }
        Ok(Self {
            name: Name::parse(&name).map_err(|_| refused("name", &name, "the name of a plugin"))?,
            language: Language::parse(&language)
                .ok_or_else(|| refused("language", &language, "a language with templates"))?,
            role: Role::parse(&role)
                .ok_or_else(|| refused("role", &role, "admission, probe or pod-source"))?,
            version: witlet,
            files,
        })
    }

    /// Whether it is of a release after the present one.
    pub(crate) fn is_newer(&self) -> bool {
        release(&self.version) > release(VERSION)
    }
}

/// Digests of the files that are the template's.
pub(crate) fn digests(files: &[File]) -> Digests {
    let of_template = files.iter().filter(|file| owner(&file.path) == Owner::Template);
    of_template.map(|file| (file.path.clone(), digest_of(&file.contents))).collect()
}

/// Whether a path leads to something below the folder, by its words alone.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The release of a version: what is before it counts as it.
fn release(version: &str) -> Option<(u64, u64, u64)> {
    let version = Version::parse(version).ok()?;
    Some((version.major, version.minor, version.patch))
}

#[cfg(test)]
mod tests;

//! The file of `--plugin-sets`: which sets of plugins an annotation of the node may choose. Read strictly.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use witlet_core::duration;
use witlet_core::error::yaml_fault;
use witlet_core::node::plugin_set::{JITTER_DEFAULT, JITTER_MAX, SetPolicy};

use crate::bounded;

#[cfg(test)]
mod tests;

/// `apiVersion` of the file.
const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of the file.
const KIND: &str = "PluginSetPolicy";
/// How large the file may be.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// How many repositories, and how many keys, it may name.
const ITEMS_MAX: usize = 16;

/// Why the file isn't taken. Each names the field and the way out.
#[derive(Debug, Error)]
pub(crate) enum SetPolicyError {
    /// It can't be read.
    #[error("failed to read {}, which --plugin-sets names", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// It can be read, and is wrong.
    #[error("{}: {problem}", path.display())]
    Content {
        path: PathBuf,
        /// The field, what is wrong, and the way out.
        problem: String,
    },
}

/// What the operator allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginSetPolicy {
    /// From where, and how fast.
    pub(crate) sets: SetPolicy,
    /// Files with the public keys one of which must have signed a set.
    pub(crate) keys: Vec<PathBuf>,
    /// Credentials for its registry, in place of the node's own.
    pub(crate) pull_credentials: Option<PathBuf>,
    /// Whether compiled code of a set runs, which none of the sandbox holds.
    pub(crate) uses_compiled_code: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: String,
    kind: String,
    repositories: Vec<String>,
    keys: Vec<PathBuf>,
    jitter: Option<String>,
    pull_credentials: Option<PathBuf>,
    compiled_code: Option<String>,
}

impl PluginSetPolicy {
    /// Allows no set.
    pub(crate) fn none() -> Self {
        let sets = SetPolicy { repositories: Vec::new(), jitter: JITTER_DEFAULT };
        Self { sets, keys: Vec::new(), pull_credentials: None, uses_compiled_code: false }
    }
}

/// Reads the file's text.
pub(crate) fn read_text(path: &Path) -> Result<String, SetPolicyError> {
    bounded::read_text(path, FILE_BYTES_MAX)
        .map_err(|cause| SetPolicyError::Read { path: path.to_owned(), cause })
}

/// Returns what this text says as that of the file at `path`: relative paths in it are looked up next to that.
pub(crate) fn of_text(path: &Path, text: &str) -> Result<PluginSetPolicy, SetPolicyError> {
    let mut policy =
        parse(text).map_err(|problem| SetPolicyError::Content { path: path.to_owned(), problem })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    for file in policy.keys.iter_mut().chain(&mut policy.pull_credentials) {
        *file = folder.join(&*file);
    }
    Ok(policy)
}

fn parse(text: &str) -> Result<PluginSetPolicy, String> {
    let document: Document = serde_saphyr::from_str(text).map_err(|error| yaml_fault(&error))?;
    let Document { api_version, kind, repositories, keys, jitter, pull_credentials, compiled_code } =
        document;
    for (field, found, expected) in [("apiVersion", api_version, API_VERSION), ("kind", kind, KIND)] {
        if found != expected {
            return Err(format!("{field}: must be {expected:?}, found {found:?}"));
        }
    }
    for (field, count) in [("repositories", repositories.len()), ("keys", keys.len())] {
        if !(1..=ITEMS_MAX).contains(&count) {
            return Err(format!("{field}: 1 to {ITEMS_MAX} are needed, found {count}"));
        }
    }
    if let Some((place, found)) = repositories.iter().enumerate().find(|(_, text)| !is_repository(text)) {
        return Err(format!(
            "repositories[{place}]: {found:?} must be HOST[:PORT]/PATH, or HOST[:PORT]/* or HOST[:PORT]/PATH/* for all below it"
        ));
    }
    if let Some(place) = keys.iter().position(|key| key.as_os_str().is_empty()) {
        return Err(format!("keys[{place}]: no path"));
    }
    let jitter = match jitter {
        None => JITTER_DEFAULT,
        Some(text) => match duration::parse(&text).filter(|jitter| *jitter <= JITTER_MAX) {
            Some(jitter) => jitter,
            None => return Err(format!("jitter: {text:?} must be 0s to {}", shown(JITTER_MAX))),
        },
    };
    let uses_compiled_code = match compiled_code.as_deref() {
        None | Some("Never") => false,
        Some("Signed") => true,
        Some(found) => return Err(format!("compiledCode: must be \"Never\" or \"Signed\", found {found:?}")),
    };
    Ok(PluginSetPolicy {
        sets: SetPolicy { repositories, jitter },
        keys,
        pull_credentials,
        uses_compiled_code,
    })
}

fn shown(time: Duration) -> String {
    format!("{}h", time.as_secs() / 3600)
}

/// Whether a pattern names a registry, and something in it.
fn is_repository(text: &str) -> bool {
    let Some((host, path)) = text.split_once('/') else { return false };
    let is_host = host == "localhost" || host.contains(['.', ':']);
    let path = path.strip_suffix("/*").unwrap_or(path);
    is_host && !path.is_empty() && !path.starts_with('/') && (path == "*" || !path.contains('*'))
}

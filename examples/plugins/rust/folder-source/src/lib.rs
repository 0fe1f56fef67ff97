//! Example pod source: every file `NAME.json` of a folder is one pod. What it does in detail stands at the top of
//! `examples/plugins/cases/folder-source.yaml`; the same plugin exists in other languages.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod folder;

use serde::Deserialize;
use serde_json::Value;
use witlet_plugin_sdk::source::{PodSource, Poll, SourceError, fingerprint};
use witlet_plugin_sdk::{Error, export_pod_source};

/// The source.
pub struct FolderSource;

/// The plugin's `config:`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Absolute path of the folder, as the plugin sees it.
    pub folder: String,
}

impl PodSource for FolderSource {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        if !config.folder.starts_with('/') {
            return Err(Error::invalid("folder", "must be an absolute path"));
        }
        Ok(())
    }

    fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        let files = folder::read(&config.folder)?;
        let current = fingerprint(files.iter().flat_map(|(name, text)| [name, text]));
        if cursor == Some(&current) {
            return Ok(Poll::unchanged().with_cursor(current));
        }
        let manifests: Result<Vec<String>, SourceError> =
            files.into_iter().map(|(name, text)| manifest(&name, text)).collect();
        Ok(Poll::all(manifests?).with_cursor(current))
    }
}

/// The file's text, if it is a manifest of a pod as far as a source can tell; the host checks all of it.
fn manifest(name: &str, text: String) -> Result<String, SourceError> {
    let manifest: Value = serde_json::from_str(&text).map_err(|cause| invalid(name, cause))?;
    if manifest.get("kind").and_then(Value::as_str) != Some("Pod") {
        return Err(invalid(name, "it is no object of kind Pod"));
    }
    Ok(text)
}

/// A file that is there, and isn't what it should be.
fn invalid(name: &str, problem: impl std::fmt::Display) -> SourceError {
    SourceError::new("Invalid", format!("{name}: {problem}"))
}

export_pod_source!(FolderSource);

#[cfg(test)]
mod tests;

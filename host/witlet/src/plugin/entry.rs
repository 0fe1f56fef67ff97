//! What the command line says of a component that is asked directly: its cases, and what its entry of a PluginConfiguration would have.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;
use witlet_conformance::Plan;
use witlet_conformance::cases::{self, CaseFile, CasesError};
use witlet_core::error::yaml_fault;

use crate::bounded;
use crate::cli::EntryArgs;

#[cfg(test)]
mod tests;

/// The largest file that `--config` takes: as large as a PluginConfiguration.
const CONFIG_BYTES_MAX: u64 = witlet_wasm::plugin::config::FILE_BYTES_MAX as u64;

/// Why there is nothing to ask.
#[derive(Debug, Error)]
pub(crate) enum EntryError {
    /// A case file isn't taken.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// A file is larger than any configuration.
    #[error("{} must have at most {CONFIG_BYTES_MAX} bytes", path.display())]
    TooLarge { path: PathBuf },
    /// Words that are neither a file nor meant as a value.
    #[error("--config must be a file or a JSON object, found {words}")]
    NoConfig {
        /// As they were given.
        words: String,
    },
    /// A value is neither JSON nor YAML.
    #[error("{flag}: {message}")]
    Value { flag: &'static str, message: String },
}

/// The plan that has these cases, or those next to the component, and this entry, and nothing else.
pub(super) fn plan(file: &str, cases: &[PathBuf], entry: &EntryArgs) -> Result<Plan, EntryError> {
    let cases = match cases {
        // Only a file has something next to it.
        [] if file.contains(':') => Vec::new(),
        [] => cases::next_to(Path::new(file))?,
        named => {
            named.iter().map(|path| cases::find(path)).collect::<Result<Vec<Vec<CaseFile>>, _>>()?.concat()
        }
    };
    plan_with(cases, entry)
}

/// The plan that has these cases and this entry, and nothing else.
pub(super) fn plan_with(cases: Vec<CaseFile>, entry: &EntryArgs) -> Result<Plan, EntryError> {
    let mut grants = Value::Null;
    for text in &entry.grants {
        merge(&mut grants, value("--grants", text)?);
    }
    let config = entry.config.as_deref().map(config).transpose()?;
    let limits = entry.limits.as_deref().map(|text| value("--limits", text)).transpose()?.unwrap_or_default();
    Ok(Plan { cases, config, limits, grants, ..Plan::default() })
}

/// A file, or the value itself.
fn config(text: &str) -> Result<Value, EntryError> {
    let path = Path::new(text);
    if !path.is_file() {
        return config_value(text);
    }
    let content = bounded::read_text(path, CONFIG_BYTES_MAX).map_err(|cause| {
        let path = path.to_owned();
        if cause.kind() == ErrorKind::FileTooLarge {
            EntryError::TooLarge { path }
        } else {
            EntryError::Read { path, cause }
        }
    })?;
    value("--config", &content)
}

/// A configuration that is no file. A text that is meant is written as JSON has it; a bare word is a file's name that is misspelt.
pub(super) fn config_value(text: &str) -> Result<Value, EntryError> {
    let value = value("--config", text)?;
    if value.is_string() && !text.trim_start().starts_with(['"', '\'']) {
        return Err(EntryError::NoConfig { words: text.to_owned() });
    }
    Ok(value)
}

/// JSON, or the YAML that is easier to type.
pub(super) fn value(flag: &'static str, text: &str) -> Result<Value, EntryError> {
    serde_saphyr::from_str(text).map_err(|error| EntryError::Value { flag, message: yaml_fault(&error) })
}

/// Fields of several grants side by side; a later one takes an earlier one's place.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => into.extend(from),
        (into, from) => *into = from,
    }
}

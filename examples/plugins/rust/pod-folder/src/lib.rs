//! Example pod source for contract 0.2: every file `NAME.json` of a folder is one pod, and which of them aren't run is logged. What it
//! does in detail stands at the top of `examples/plugins/cases/folder-source.yaml`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use std::fmt::Display;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use witlet_plugin_sdk_0_2::source::{Change, PodSource, Poll, Setup, fingerprint};
use witlet_plugin_sdk_0_2::{Error, export_feedback, export_source, warn};

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The source, made of the plugin's `config:`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// Absolute path of the folder, as the plugin sees it.
    pub folder: String,
}

impl PodSource for Folder {
    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        match self.folder.starts_with('/') {
            true => Ok(()),
            false => Err(Error::invalid("folder", "must be an absolute path")),
        }
    }

    fn poll(&self, cursor: Option<&str>) -> Result<Poll, Error> {
        let folder = Path::new(&self.folder);
        let files: Vec<(String, String)> = names(folder)?
            .into_iter()
            .map(|name| text(folder, &name).map(|text| (name, text)))
            .collect::<Result<_, _>>()?;
        let current = fingerprint(files.iter().flat_map(|(name, text)| [name, text]));
        if cursor == Some(&current) {
            return Ok(Poll::unchanged().cursor(current));
        }
        let manifests = files.into_iter().map(|(name, text)| manifest(&name, text));
        Ok(Poll::all(manifests.collect::<Result<Vec<String>, Error>>()?).cursor(current))
    }

    fn notify(&self, changes: &[Change]) -> Result<(), Error> {
        for Change { namespace, name, reason, message, .. } in
            changes.iter().filter(|change| change.is_refused())
        {
            warn!("pod {namespace}/{name} isn't run: {reason}: {message}");
        }
        Ok(())
    }
}

/// Names of the folder's own files that end in `.json` and aren't hidden, sorted. What has no name in UTF-8 isn't taken for a pod.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|cause| unavailable(folder, cause))? {
        let entry = entry.map_err(|cause| unavailable(folder, cause))?;
        let is_file = entry.file_type().map_err(|cause| unavailable(folder, cause))?.is_file();
        let name = entry.file_name().into_string().ok();
        names.extend(name.filter(|name| is_file && name.ends_with(".json") && !name.starts_with('.')));
    }
    names.sort();
    Ok(names)
}

fn text(folder: &Path, name: &str) -> Result<String, Error> {
    let path = folder.join(name);
    let size = fs::metadata(&path).map_err(|cause| unavailable(&path, cause))?.len();
    if size > FILE_BYTES_MAX {
        return Err(invalid(name, format_args!("must have at most {FILE_BYTES_MAX} bytes")));
    }
    let bytes = fs::read(&path).map_err(|cause| unavailable(&path, cause))?;
    String::from_utf8(bytes).map_err(|_| invalid(name, "it isn't UTF-8"))
}

/// The file's text, if it is a manifest of a pod as far as a source can tell; the host checks all of it.
fn manifest(name: &str, text: String) -> Result<String, Error> {
    let manifest: Value = serde_json::from_str(&text).map_err(|cause| invalid(name, cause))?;
    match manifest.get("kind").and_then(Value::as_str) {
        Some("Pod") => Ok(text),
        Some(_) | None => Err(invalid(name, "it is no object of kind Pod")),
    }
}

/// Nothing is known about the pods: those of the last check go on.
fn unavailable(path: &Path, cause: impl Display) -> Error {
    Error::new("Unavailable", format!("read {}: {cause}", path.display()))
}

/// A file that is there, and isn't what it should be.
fn invalid(name: &str, problem: impl Display) -> Error {
    Error::new("Invalid", format!("{name}: {problem}"))
}

export_source!(Folder);
export_feedback!(Folder);

#[cfg(test)]
mod tests;

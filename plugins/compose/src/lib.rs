//! Pod source `compose`: the services of compose files as pods, one pod for each service.
//!
//! ```yaml
//! - name: compose
//!   component: builtin:compose
//!   podSource: {interval: 10s, allow: {namespaces: [edge], podSecurity: privileged}}
//!   grants: {files: [{path: /etc/witlet/compose, guestPath: /compose}]}
//!   config: {folder: /compose, hostFolder: /etc/witlet/compose, namespace: edge, variables: {TAG: "1.2"}}
//! ```
//!
//! What a pod can't be or have is refused by the field's name and the service's. A file is taken whole or not at all, and if
//! one isn't taken, the source says so and its last pods go on: half of a project is never run. Services don't find each
//! other by name; they meet at published ports. A health check decides whether a pod is ready: as with compose itself,
//! nothing is restarted for being unhealthy.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod interpolate;
mod network;
mod project;
mod service;
mod storage;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use witlet_plugin_sdk::source::{PodSource, Poll, SourceError};
use witlet_plugin_sdk::{Error, export_pod_source};

/// Bytes of one file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Files of one source.
const FILES_MAX: usize = 100;
/// Problems that are reported at once; the rest is counted.
const PROBLEMS_MAX: usize = 20;

/// The pod source.
pub struct Compose;

/// The plugin's `config:`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Config {
    /// A folder: its files that end in `.yaml` or `.yml` are projects, and so is `compose.yaml` in each folder below it.
    folder: Option<PathBuf>,
    /// Or the files themselves.
    files: Vec<PathBuf>,
    /// Where the folder is on the node, for what a file mounts relative to itself.
    host_folder: Option<PathBuf>,
    /// The namespace of all pods; a project's own is its name.
    namespace: Option<String>,
    /// What `${NAME}` stands for.
    variables: BTreeMap<String, String>,
    /// Services with a profile run if one of theirs is here.
    profiles: Vec<String>,
    /// Where named volumes are on the node. Others are refused.
    volumes: BTreeMap<String, PathBuf>,
}

impl PodSource for Compose {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        if config.folder.is_some() != config.files.is_empty() {
            return Err(Error::invalid("folder", "one of folder and files is required"));
        }
        let paths = config.folder.iter().chain(&config.files).chain(&config.host_folder);
        match paths.chain(config.volumes.values()).find(|path| !path.is_absolute()) {
            Some(path) => Err(Error::invalid("path", format!("{} isn't absolute", path.display()))),
            None => Ok(()),
        }
    }

    fn poll(_: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        let files = files(config)?;
        let mut pods = Vec::new();
        let mut problems = Vec::new();
        let mut names: BTreeMap<(String, String), PathBuf> = BTreeMap::new();
        for path in files {
            let text = read(&path)?;
            match project::pods(&text, &path, config) {
                Ok(found) => {
                    for pod in found {
                        let key = (pod.namespace, pod.name);
                        if let Some(first) = names.get(&key) {
                            let (path, first) = (path.display(), first.display());
                            problems.push(format!("{path}: pod {}/{} is in {first}, too", key.0, key.1));
                        } else {
                            names.insert(key, path.clone());
                            pods.push(pod.manifest.to_string());
                        }
                    }
                }
                Err(found) => {
                    problems
                        .extend(found.into_iter().map(|problem| format!("{}: {problem}", path.display())));
                }
            }
        }
        if problems.is_empty() { Ok(Poll::all(pods)) } else { Err(invalid(problems)) }
    }
}

fn invalid(mut problems: Vec<String>) -> SourceError {
    let beyond = problems.len().saturating_sub(PROBLEMS_MAX);
    problems.truncate(PROBLEMS_MAX);
    if beyond > 0 {
        problems.push(format!("and {beyond} more problems"));
    }
    SourceError::new("Invalid", problems.join("; "))
}

fn unavailable(path: &Path, error: &std::io::Error) -> SourceError {
    SourceError::new("Unavailable", format!("{}: {error}", path.display()))
}

/// The files of all projects, in the order of their paths. A folder that is missing is an error: its grant may be.
fn files(config: &Config) -> Result<Vec<PathBuf>, SourceError> {
    let Some(folder) = &config.folder else { return Ok(config.files.clone()) };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unavailable(folder, &error))? {
        let entry = entry.map_err(|error| unavailable(folder, &error))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            found.extend(
                ["compose.yaml", "compose.yml"]
                    .map(|name| path.join(name))
                    .into_iter()
                    .find(|path| path.exists()),
            );
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            found.push(path);
        }
        if found.len() > FILES_MAX {
            let message = format!("{} has more than {FILES_MAX} compose files", folder.display());
            return Err(SourceError::new("Invalid", message));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, SourceError> {
    let file = fs::File::open(path).map_err(|error| unavailable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unavailable(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{} has more than {FILE_BYTES_MAX} bytes", path.display());
        return Err(SourceError::new("Invalid", message));
    }
    String::from_utf8(bytes)
        .map_err(|_| SourceError::new("Invalid", format!("{} is no text", path.display())))
}

export_pod_source!(Compose);

#[cfg(test)]
mod tests;

//! Components as cargo's messages list them.

use std::path::PathBuf;

use serde::Deserialize;

use crate::error::BuildError;

/// How much of a line that isn't understood is shown.
const LINE_SHOWN_MAX: usize = 120;

/// One component that cargo has made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Artifact {
    /// Name of the target, `-` as `_`.
    pub(crate) name: String,
    /// Package that it belongs to.
    pub(crate) package: String,
    /// The package's Cargo.toml.
    pub(crate) manifest: PathBuf,
    /// The component.
    pub(crate) file: PathBuf,
}

/// The part of a message that matters here (cargo reference, "External tools", artifact messages).
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// The components of the packages, sorted by name. Those of their dependencies are left out.
pub(crate) fn parse(messages: &str, packages: &[String]) -> Result<Vec<Artifact>, BuildError> {
    let mut artifacts = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).map_err(|cause| BuildError::Message {
            line: line.chars().take(LINE_SHOWN_MAX).collect(),
            cause,
        })?;
        if message.reason != "compiler-artifact" {
            continue;
        }
        let (Some(id), Some(manifest), Some(target)) =
            (message.package_id, message.manifest_path, message.target)
        else {
            continue;
        };
        let Some(package) = packages.iter().find(|name| package_name(&id) == name.as_str()) else { continue };
        let component =
            message.filenames.into_iter().find(|path| path.extension().is_some_and(|e| e == "wasm"));
        if let Some(file) = component {
            artifacts.push(Artifact {
                name: target.name.replace('-', "_"),
                package: package.clone(),
                manifest,
                file,
            });
        }
    }
    artifacts.sort();
    match artifacts.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(pair) => Err(BuildError::DuplicateName { name: pair[0].name.clone() }),
        None => Ok(artifacts),
    }
}

/// The name in a package ID specification (cargo reference): `path+file:///a/b#name@1.0.0`, or
/// `path+file:///a/name#1.0.0` where the folder has the package's name.
fn package_name(id: &str) -> &str {
    let (url, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _version)) => name,
        None => url.rsplit('/').next().unwrap_or(url),
    }
}

#[cfg(test)]
mod tests;

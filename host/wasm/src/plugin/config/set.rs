//! What a plugin file that is part of a set may name: the files of the set by relative paths, what is the node's own by absolute ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use super::{ComponentSource, ConfigError, DataSource, PluginConfiguration, PluginEntry, field};
use crate::engine::EngineKind;

/// What a file of a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetFileKind {
    /// A component, which must be there.
    Component,
    /// Data, which must be there.
    Data,
    /// A conformance report, which may be there.
    Report,
}

/// A file that a set has next to its plugin file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetFileName {
    /// Its name, relative to the plugin file, with `/`.
    pub name: String,
    pub kind: SetFileKind,
}

/// The files that a set with this plugin file has next to it, sorted, each once.
///
/// # Errors
///
/// When the file names a component at a place of the node's, which no digest is known of, or something of the node's own (secrets, keys,
/// credentials) at a relative path: it doesn't belong into a registry.
pub fn files_of_set(configuration: &PluginConfiguration) -> Result<Vec<SetFileName>, ConfigError> {
    let mut files = BTreeSet::new();
    let reports = configuration.require_conformance.is_some();
    for (place, secret) in configuration.secrets.iter().enumerate() {
        own(&format!("secrets[{place}].file"), &secret.file)?;
    }
    let conformance = configuration.require_conformance.iter().flat_map(|required| &required.keys);
    let signature = configuration.require_signature.iter().flat_map(|required| &required.keys);
    for (name, keys) in
        [("requireConformance", conformance.collect::<Vec<_>>()), ("requireSignature", signature.collect())]
    {
        for (place, key) in keys.into_iter().enumerate() {
            own(&format!("{name}.keys[{place}]"), key)?;
        }
    }
    for entry in &configuration.plugins {
        let path = format!("plugin {:?}", entry.name);
        match &entry.component {
            ComponentSource::Shipped(_) => {}
            ComponentSource::Registry { credentials, .. } => {
                credentials.iter().try_for_each(|file| own(&format!("{path}: pullCredentials"), file))?;
            }
            ComponentSource::File(component) => {
                let name = relative(component).ok_or_else(|| component_of_node(&path, component))?;
                if reports && entry.conformance.is_none() {
                    let name = format!("{name}.conformance.json");
                    files.insert(SetFileName { name, kind: SetFileKind::Report });
                }
                files.insert(SetFileName { name, kind: SetFileKind::Component });
            }
        }
        if let Some(report) = &entry.conformance
            && let Some(name) = part(&format!("{path}: conformance"), report)?
        {
            files.insert(SetFileName { name, kind: SetFileKind::Report });
        }
        for data in &entry.data {
            let DataSource::File(file) = &data.source else { continue };
            if let Some(name) = part(&format!("{path}: data {:?}", data.name), file)? {
                files.insert(SetFileName { name, kind: SetFileKind::Data });
            }
        }
    }
    Ok(files.into_iter().collect())
}

/// The engines on which components of the set run, by the components' names in the set.
pub fn engines_of_set(configuration: &PluginConfiguration) -> BTreeMap<String, Vec<EngineKind>> {
    let mut engines = BTreeMap::<String, Vec<EngineKind>>::new();
    for entry in &configuration.plugins {
        let ComponentSource::File(component) = &entry.component else { continue };
        let Some(name) = relative(component) else { continue };
        let known = engines.entry(name).or_default();
        for kind in engines_of(entry) {
            if !known.contains(&kind) {
                known.push(kind);
            }
        }
    }
    engines
}

fn engines_of(entry: &PluginEntry) -> impl Iterator<Item = EngineKind> {
    let waits = entry.probe.is_some() || entry.pod_source.is_some();
    let synchronous = entry.admission.is_some().then_some(EngineKind::Synchronous);
    synchronous.into_iter().chain(waits.then_some(EngineKind::Asynchronous))
}

fn component_of_node(path: &str, component: &Path) -> ConfigError {
    let problem = format!(
        "{} isn't in the set: name a file next to the plugin file, builtin:NAME or oci://…@sha256:…",
        component.display()
    );
    ConfigError::Field { field: format!("{path}: component"), problem }
}

/// A file of the set by its name, or none for one of the node's own.
fn part(name: &str, file: &Path) -> Result<Option<String>, ConfigError> {
    if file.is_absolute() {
        return Ok(None);
    }
    match relative(file) {
        Some(found) => Ok(Some(found)),
        None => field(name, format!("{} must be inside of the set's folder", file.display())),
    }
}

/// What must be the node's own.
fn own(name: &str, file: &Path) -> Result<(), ConfigError> {
    if file.is_absolute() {
        return Ok(());
    }
    field(
        name,
        format!(
            "{} is relative: what isn't part of a set is named by an absolute path of the node",
            file.display()
        ),
    )
}

/// A relative path in its plain form; none if it leads out, or isn't text.
fn relative(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;

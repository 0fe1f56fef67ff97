//! A compose file as a project: its variables filled in, its top level checked, its services made pods.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::service::Service;
use crate::storage::Volumes;
use crate::{Config, interpolate, values};

#[cfg(test)]
mod tests;

/// Services of one file.
const SERVICES_MAX: usize = 200;
/// How deep values may lie in each other.
const DEPTH_MAX: usize = 32;
/// Values in one file.
const NODES_MAX: usize = 100_000;
/// How much aliases may add.
const ALIAS_EVENTS_MAX: usize = 50_000;

/// A pod, and who it is.
pub(crate) struct Pod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) manifest: Value,
}

/// What holds for all services of a file.
pub(crate) struct Project<'a> {
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// Where the file's folder is on the node, if the operator says so.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) config: &'a Config,
}

/// The pods of a file, or everything about it that can't be.
pub(crate) fn pods(text: &str, path: &Path, config: &Config) -> Result<Vec<Pod>, Vec<String>> {
    let one = |problem: String| vec![problem];
    let mut tree = parse(text).map_err(one)?;
    interpolate::value(&mut tree, &config.variables).map_err(one)?;
    let Value::Object(top) = tree else { return Err(one("is no compose file".to_owned())) };
    let mut problems = Vec::new();
    let project = project(&top, path, config).map_err(one)?;
    let volumes = top_level(&top, &mut problems);
    let mut pods = Vec::new();
    match top.get("services") {
        Some(Value::Object(services)) if services.len() <= SERVICES_MAX => {
            for (name, service) in services {
                let mut found = Vec::new();
                pods.extend(Service::new(&project, &volumes, name).pod(service, &mut found));
                problems.extend(found.into_iter().map(|problem| format!("service {name}: {problem}")));
            }
        }
        Some(Value::Object(_)) => problems.push(format!("has more than {SERVICES_MAX} services")),
        _ => problems.push("has no services".to_owned()),
    }
    if problems.is_empty() { Ok(pods) } else { Err(problems) }
}

fn parse(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_documents: 2,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIAS_EVENTS_MAX,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
        // As the tool reads its files: `y`, `no` and `on` are texts.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.without_snippet().to_string())
}

/// The name is the file's own, or that of the file, or of its folder if the file is called as all are.
fn project<'a>(top: &Map<String, Value>, path: &Path, config: &'a Config) -> Result<Project<'a>, String> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let own = match top.get("name") {
        Some(name) => Some(values::plain(name).map_err(|problem| format!("name: {problem}"))?),
        None => None,
    };
    let from_path = match stem(path).as_deref() {
        Some("compose" | "docker-compose") => path.parent().and_then(stem),
        other => other.map(str::to_owned),
    };
    let name = own.or(from_path).unwrap_or_default();
    if !values::is_label(&name) {
        return Err(format!("name: {name:?} must be lower-case letters, digits and `-`"));
    }
    let below = config.folder.as_deref().and_then(|folder| path.parent()?.strip_prefix(folder).ok());
    let folder = config.host_folder.as_ref().zip(below).map(|(host, below)| host.join(below));
    let namespace = config.namespace.clone().unwrap_or_else(|| name.clone());
    Ok(Project { name, namespace, folder, config })
}

/// What else a file declares: volumes.
fn top_level(top: &Map<String, Value>, problems: &mut Vec<String>) -> Volumes {
    let mut volumes = Volumes::default();
    for (field, value) in top {
        match field.as_str() {
            // The version is obsolete and has no effect.
            "name" | "services" | "version" => {}
            "volumes" => match value {
                Value::Object(declared) => {
                    for (name, options) in declared {
                        if is_nothing(options) || options.get("external").is_some() {
                            volumes.declare(name);
                        } else {
                            problems.push(format!("volumes.{name}: its options aren't supported"));
                        }
                    }
                }
                _ => problems.push("volumes: must be a map".to_owned()),
            },
            field if field.starts_with("x-") => {}
            _ if is_nothing(value) => {}
            field => problems.push(format!("{field} isn't supported")),
        }
    }
    volumes
}

/// Says nothing.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

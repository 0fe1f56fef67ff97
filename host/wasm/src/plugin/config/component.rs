//! Where an entry's component is.

use std::path::{Path, PathBuf};

use witlet_core::error::one_line;
use witlet_ports::{ComponentReference, OCI_SCHEME};

use super::{ConfigError, References, field};

/// What stands before the name of a component that is shipped and off.
pub(crate) const BUILTIN_SCHEME: &str = "builtin:";

/// Components that earlier builds shipped and that are examples now.
const EXAMPLES: [&str; 3] = ["postgres-ready", "time-window", "udp"];

/// Returns what to tell a user who names `builtin:NAME` where no such component ships, with the way out.
pub fn not_shipped(name: &str, shipped: &[&str]) -> String {
    let shipped = shipped.join(", ");
    if EXAMPLES.contains(&name) {
        return format!(
            "{name:?} is no longer built in: build it in examples/plugins/rust/{name} and name its file, \
             ./{name}.wasm; shipped are: {shipped}"
        );
    }
    format!("no built-in plugin {name:?}; expected one of {shipped}")
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// A file; relative ones are looked up next to the configuration.
    File(PathBuf),
    /// One of those that are shipped and off, by its name.
    Shipped(String),
    /// In a registry, pinned.
    Registry {
        reference: ComponentReference,
        /// A file in the form of a docker configuration; relative ones are looked up next to the configuration. None
        /// leaves it to the node's own credentials.
        credentials: Option<PathBuf>,
    },
}

pub(super) fn parse(
    text: &str,
    credentials: Option<&Path>,
    known: &References<'_>,
    path: &str,
) -> Result<ComponentSource, ConfigError> {
    let name = format!("{path}.component");
    if text.starts_with(OCI_SCHEME) {
        return match text.parse() {
            Ok(reference) => {
                let credentials = credentials.or(known.pull_credentials).map(Path::to_owned);
                Ok(ComponentSource::Registry { reference, credentials })
            }
            Err(error) => field(&name, format!("{text:?}: {}", one_line(&error))),
        };
    }
    if credentials.is_some() {
        let problem = format!("only allowed for components from registries ({OCI_SCHEME}): remove it");
        return field(&format!("{path}.pullCredentials"), problem);
    }
    if let Some(shipped) = text.strip_prefix(BUILTIN_SCHEME) {
        let components = known.shipped.components;
        if !components.contains(&shipped) {
            return field(&name, not_shipped(shipped, components));
        }
        return Ok(ComponentSource::Shipped(shipped.to_owned()));
    }
    if text.is_empty() {
        return field(&name, "must not be empty");
    }
    if let Some((scheme, _)) = text.split_once("://") {
        let problem = format!("{scheme}:// isn't known: write a path, {BUILTIN_SCHEME}NAME or {OCI_SCHEME}…");
        return field(&name, problem);
    }
    Ok(ComponentSource::File(PathBuf::from(text)))
}

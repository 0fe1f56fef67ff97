//! Which reports of the conformance kit the file demands.

use std::path::{Path, PathBuf};

use crate::attestation::KitVersion;

use super::document::RequireConformanceDocument;
use super::{ComponentSource, ConfigError, References, check_count, field};

/// How many keys may sign reports.
pub const CONFORMANCE_KEYS_MAX: usize = 16;
/// The field.
const FIELD: &str = "requireConformance";

/// What a component's report must say before the component is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredConformance {
    /// Files with the public keys whose signatures count, one at least; relative ones are looked up next to the configuration.
    pub keys: Vec<PathBuf>,
    /// The oldest kit whose word counts; none takes any.
    pub kit_version: Option<KitVersion>,
    /// Whether a report that something failed counts, too, and is warned of.
    pub failed_too: bool,
}

pub(super) fn parse(document: RequireConformanceDocument) -> Result<RequiredConformance, ConfigError> {
    let RequireConformanceDocument { keys, kit_version, failed } = document;
    let path = format!("{FIELD}.keys");
    if keys.is_empty() {
        return field(&path, "no key: name the public keys that reports are signed with");
    }
    check_count(&path, keys.len(), CONFORMANCE_KEYS_MAX)?;
    if let Some(index) = keys.iter().position(|key| key.as_os_str().is_empty()) {
        return field(&format!("{path}[{index}]"), "no path");
    }
    let kit_version = match kit_version.map(|text| (text.parse(), text)) {
        None => None,
        Some((Ok(version), _)) => Some(version),
        Some((Err(error), text)) => {
            return field(&format!("{FIELD}.kitVersion"), format!("{text:?}: {error}"));
        }
    };
    let failed_too = match failed.as_deref() {
        None | Some("refuse") => false,
        Some("warn") => true,
        Some(other) => {
            return field(&format!("{FIELD}.failed"), format!("{other:?} isn't `refuse` or `warn`"));
        }
    };
    Ok(RequiredConformance { keys, kit_version, failed_too })
}

/// Whether an entry may say where its report is.
pub(super) fn check_entry(
    report: &Path,
    component: &ComponentSource,
    known: &References<'_>,
    path: &str,
) -> Result<(), ConfigError> {
    let path = format!("{path}.conformance");
    match component {
        ComponentSource::Shipped(_) => field(&path, "what ships needs no report: leave it out"),
        ComponentSource::File(_) | ComponentSource::Registry { .. } if !known.conformance => {
            field(&path, format!("without {FIELD} reports are not checked: leave it out"))
        }
        ComponentSource::File(_) | ComponentSource::Registry { .. } if report.as_os_str().is_empty() => {
            field(&path, "no path")
        }
        ComponentSource::File(_) | ComponentSource::Registry { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;

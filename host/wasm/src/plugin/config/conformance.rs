//! Which reports of the conformance kit, and which signatures, the file demands.

use std::path::{Path, PathBuf};

use semver::Version;

use super::document::{RequireConformanceDocument, RequireSignatureDocument};
use super::{ComponentSource, ConfigError, References, check_count, field};

/// How many keys may sign reports, and how many components.
pub const CONFORMANCE_KEYS_MAX: usize = 16;
/// The field.
const FIELD: &str = "requireConformance";

/// What a component's report must say before the component is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredConformance {
    /// Files with the public keys whose signatures count, one at least; relative ones are looked up next to the configuration.
    pub keys: Vec<PathBuf>,
    /// The oldest kit whose word counts; none takes any.
    pub kit_version: Option<Version>,
    /// Whether a report that something failed counts, too, and is warned of.
    pub failed_too: bool,
}

/// Who must have signed a component in a registry before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredSignature {
    /// Files with the public keys whose signatures count, one at least; relative ones are looked up next to the configuration.
    pub keys: Vec<PathBuf>,
}

pub(super) fn parse(document: RequireConformanceDocument) -> Result<RequiredConformance, ConfigError> {
    let RequireConformanceDocument { keys, kit_version, failed } = document;
    check_keys(FIELD, &keys, "reports are")?;
    let kit_version = match kit_version.map(|text| (Version::parse(&text), text)) {
        None => None,
        Some((Ok(version), _)) => Some(version),
        Some((Err(_), text)) => {
            let problem = format!("must be a version such as 0.1.0, found {text:?}");
            return field(&format!("{FIELD}.kitVersion"), problem);
        }
    };
    let failed_too = match failed.as_deref() {
        None | Some("refuse") => false,
        Some("warn") => true,
        Some(other) => {
            return field(&format!("{FIELD}.failed"), format!("must be `refuse` or `warn`, found {other:?}"));
        }
    };
    Ok(RequiredConformance { keys, kit_version, failed_too })
}

/// Reads which signatures the file demands.
pub(super) fn signature(document: RequireSignatureDocument) -> Result<RequiredSignature, ConfigError> {
    let RequireSignatureDocument { keys } = document;
    check_keys("requireSignature", &keys, "components are")?;
    Ok(RequiredSignature { keys })
}

fn check_keys(name: &str, keys: &[PathBuf], what: &str) -> Result<(), ConfigError> {
    let path = format!("{name}.keys");
    if keys.is_empty() {
        return field(&path, format!("must have at least one public key that {what} signed with"));
    }
    check_count(&path, keys.len(), CONFORMANCE_KEYS_MAX)?;
    match keys.iter().position(|key| key.as_os_str().is_empty()) {
        Some(index) => field(&format!("{path}[{index}]"), "must not be empty"),
        None => Ok(()),
    }
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
        ComponentSource::Shipped(_) => field(&path, "must not be set for built-in components"),
        ComponentSource::File(_) | ComponentSource::Registry { .. } if !known.conformance => {
            field(&path, format!("requires {FIELD}: set it, or remove this"))
        }
        ComponentSource::File(_) | ComponentSource::Registry { .. } if report.as_os_str().is_empty() => {
            field(&path, "must not be empty")
        }
        ComponentSource::File(_) | ComponentSource::Registry { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;

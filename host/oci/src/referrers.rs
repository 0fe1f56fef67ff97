//! Conformance reports next to a component in a registry: manifests that refer to the component's (OCI distribution
//! specification 1.1, referrers), and the tag that does for registries which don't know of that.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::digest::digest_of;
use crate::manifest::{INDEX_TYPE, Layer, MANIFEST_BYTES_MAX, MANIFEST_TYPE, is_sha256};

/// `artifactType` of a report's manifest.
pub const REPORT_TYPE: &str = "application/vnd.witlet.conformance.v1alpha1";
/// The same in a URL: none of its letters means anything there.
pub(crate) const REPORT_TYPE_ESCAPED: &str = REPORT_TYPE;
/// Media type of a report: a DSSE envelope.
pub const REPORT_LAYER_TYPE: &str = "application/vnd.dsse.envelope.v1+json";
/// How large a report may be.
pub const REPORT_BYTES_MAX: usize = 256 << 10;
/// How many reports of one component are checked.
pub const REPORTS_MAX: usize = 16;

/// Media type of a configuration that says nothing.
pub(crate) const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// The configuration that says nothing.
pub(crate) const EMPTY: &[u8] = b"{}";

/// Why a list of reports, or a report's manifest, can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReferrersError {
    /// No JSON, or of another shape.
    #[error("the registry's list of conformance reports is malformed at line {line}, column {column}")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A manifest that isn't a report's.
    #[error(
        "what the registry lists as a conformance report isn't one: it needs one layer of {REPORT_LAYER_TYPE}, at most {REPORT_BYTES_MAX} bytes large"
    )]
    NoReport,
    #[error("the registry's list of conformance reports is full: remove some of them")]
    Full,
}

impl From<serde_json::Error> for ReferrersError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed { line: error.line(), column: error.column() }
    }
}

/// A manifest as lists have it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    /// Its digest with the algorithm.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// What the artifact is that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// The tag under which the list is where the registry doesn't make it itself.
pub(crate) fn fallback_tag(digest: &str) -> String {
    digest.replacen(':', "-", 1)
}

/// The manifests of reports in a list, at most [`REPORTS_MAX`]; what else refers to the component is left out.
///
/// # Errors
///
/// When the list is malformed.
pub fn reports(index: &[u8]) -> Result<Vec<Descriptor>, ReferrersError> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        manifests: Vec<Descriptor>,
    }
    let Index { manifests } = serde_json::from_slice(index)?;
    let is_report = |found: &Descriptor| {
        found.artifact_type.as_deref() == Some(REPORT_TYPE)
            && found.media_type == MANIFEST_TYPE
            && is_sha256(&found.digest)
            && found.size <= MANIFEST_BYTES_MAX as u64
    };
    Ok(manifests.into_iter().filter(is_report).take(REPORTS_MAX).collect())
}

/// The layer that is the report.
///
/// # Errors
///
/// When the manifest is malformed, or of something else.
pub fn report_layer(manifest: &[u8]) -> Result<Layer, ReferrersError> {
    #[derive(Deserialize)]
    struct Manifest {
        layers: Vec<Descriptor>,
    }
    let Manifest { layers } = serde_json::from_slice(manifest)?;
    match layers.as_slice() {
        [layer]
            if layer.media_type == REPORT_LAYER_TYPE
                && is_sha256(&layer.digest)
                && layer.size <= REPORT_BYTES_MAX as u64 =>
        {
            Ok(Layer { digest: layer.digest.clone(), size: layer.size })
        }
        _ => Err(ReferrersError::NoReport),
    }
}

/// What refers to another manifest: by its types, and what its own manifest is annotated with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferrerKind {
    pub(crate) artifact_type: &'static str,
    pub(crate) layer_type: &'static str,
    pub(crate) annotations: &'static [(&'static str, &'static str)],
}

/// A report.
pub(crate) const REPORT: ReferrerKind =
    ReferrerKind { artifact_type: REPORT_TYPE, layer_type: REPORT_LAYER_TYPE, annotations: &[] };

/// The manifest of what refers to the manifest with this digest and size. The same content has the same manifest.
pub(crate) fn referrer_manifest(
    kind: ReferrerKind,
    content: &[u8],
    subject: &str,
    subject_bytes: usize,
) -> Vec<u8> {
    let part = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": digest_of(bytes), "size": bytes.len()});
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": kind.artifact_type,
        "config": part(EMPTY_TYPE, EMPTY),
        "layers": [part(kind.layer_type, content)],
        "subject": {"mediaType": MANIFEST_TYPE, "digest": subject, "size": subject_bytes},
    });
    for (key, value) in kind.annotations {
        manifest["annotations"][*key] = json!(value);
    }
    manifest.to_string().into_bytes()
}

/// A list with one more manifest of this kind. What else is in it stays as it is, also what no one here knows.
pub(crate) fn with_referrer(
    index: Option<&[u8]>,
    kind: ReferrerKind,
    manifest: &[u8],
) -> Result<Vec<u8>, ReferrersError> {
    let mut index: Value = match index {
        Some(index) => serde_json::from_slice(index)?,
        None => json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": []}),
    };
    let manifests = index.get_mut("manifests").and_then(Value::as_array_mut);
    let manifests = manifests.ok_or(ReferrersError::Malformed { line: 1, column: 1 })?;
    let digest = digest_of(manifest);
    if !manifests.iter().any(|known| known["digest"] == *digest) {
        manifests.push(json!({
            "mediaType": MANIFEST_TYPE, "digest": digest, "size": manifest.len(), "artifactType": kind.artifact_type,
        }));
    }
    let index = index.to_string().into_bytes();
    if index.len() > MANIFEST_BYTES_MAX { Err(ReferrersError::Full) } else { Ok(index) }
}

#[cfg(test)]
mod tests;

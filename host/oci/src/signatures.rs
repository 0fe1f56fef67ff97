//! Signatures of an artifact as cosign puts them into a registry: the layers of a manifest under the tag `sha256-….sig`, and
//! Sigstore bundles that refer to the artifact's manifest. Found and read here, verified where the keys are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use witlet_ports::ArtifactSignature;

use crate::digest::digest_of;
use crate::manifest::{Layer, MANIFEST_BYTES_MAX, MANIFEST_TYPE, is_sha256};
use crate::referrers::{Descriptor, ReferrerKind, ReferrersError};

/// Media type of what cosign signs, as a layer.
pub const SIMPLE_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation of such a layer: the signature in Base64.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// `artifactType` and layer of a bundle.
pub const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// How many signatures of an artifact are checked, of each form.
pub const SIGNATURES_MAX: usize = 16;
/// How large a bundle, or what is signed, may be.
pub const SIGNATURE_BYTES_MAX: usize = 256 << 10;

/// A bundle next to what it signs, as cosign puts it there.
pub(crate) const BUNDLE: ReferrerKind = ReferrerKind {
    artifact_type: BUNDLE_TYPE,
    layer_type: BUNDLE_TYPE,
    annotations: &[
        ("dev.sigstore.bundle.content", "dsse-envelope"),
        ("dev.sigstore.bundle.predicateType", "https://sigstore.dev/cosign/sign/v1"),
    ],
};

/// The bundle's type in a URL: a plus sign is a blank there.
pub(crate) const BUNDLE_TYPE_ESCAPED: &str = "application/vnd.dev.sigstore.bundle.v0.3%2Bjson";
/// Annotation of a layer that was signed with a certificate.
const CERTIFICATE_ANNOTATION: &str = "dev.sigstore.cosign/certificate";
/// How long an annotation with a signature may be: one of RSA with 8192 bits has 1368 letters.
const SIGNATURE_CHARS_MAX: usize = 4096;
/// Media type of the configuration next to such layers.
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";

/// The tag under which cosign keeps the signatures of the manifest with this digest.
pub(crate) fn tag(digest: &str) -> String {
    format!("{}.sig", digest.replacen(':', "-", 1))
}

/// A layer with what was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedLayer {
    pub(crate) layer: Layer,
    pub(crate) signature: String,
    pub(crate) certificate: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayerDescriptor {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The signatures in a manifest, at most [`SIGNATURES_MAX`]; what else is in it is left out.
///
/// # Errors
///
/// When the manifest is malformed.
pub(crate) fn layers(manifest: &[u8]) -> Result<Vec<SignedLayer>, ReferrersError> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        layers: Vec<LayerDescriptor>,
    }
    let Manifest { layers } = serde_json::from_slice(manifest)?;
    let signed = layers.into_iter().filter_map(|found| {
        let LayerDescriptor { media_type, digest, size, mut annotations } = found;
        let signature = annotations.remove(SIGNATURE_ANNOTATION)?;
        let is_signed = media_type == SIMPLE_TYPE
            && is_sha256(&digest)
            && size <= SIGNATURE_BYTES_MAX as u64
            && signature.len() <= SIGNATURE_CHARS_MAX;
        let certificate = annotations.contains_key(CERTIFICATE_ANNOTATION);
        is_signed.then_some(SignedLayer { layer: Layer { digest, size }, signature, certificate })
    });
    Ok(signed.take(SIGNATURES_MAX).collect())
}

/// The manifests of bundles in a list, at most [`SIGNATURES_MAX`].
///
/// # Errors
///
/// When the list is malformed.
pub(crate) fn bundles(index: &[u8]) -> Result<Vec<Descriptor>, ReferrersError> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        manifests: Vec<Descriptor>,
    }
    let Index { manifests } = serde_json::from_slice(index)?;
    let is_bundle = |found: &Descriptor| {
        found.artifact_type.as_deref() == Some(BUNDLE_TYPE)
            && found.media_type == MANIFEST_TYPE
            && is_sha256(&found.digest)
            && found.size <= MANIFEST_BYTES_MAX as u64
    };
    Ok(manifests.into_iter().filter(is_bundle).take(SIGNATURES_MAX).collect())
}

/// The layer that is the bundle; none if the manifest has another one.
///
/// # Errors
///
/// When the manifest is malformed.
pub(crate) fn bundle_layer(manifest: &[u8]) -> Result<Option<Layer>, ReferrersError> {
    #[derive(Deserialize)]
    struct Manifest {
        layers: Vec<Descriptor>,
    }
    let Manifest { layers } = serde_json::from_slice(manifest)?;
    let layer = layers.into_iter().next().filter(|layer| {
        layer.media_type == BUNDLE_TYPE
            && is_sha256(&layer.digest)
            && layer.size <= SIGNATURE_BYTES_MAX as u64
    });
    Ok(layer.map(|layer| Layer { digest: layer.digest, size: layer.size }))
}

/// The documents that make one more signature: cosign's own form, so that it verifies them, too.
pub(crate) struct SignatureDocuments {
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
}

/// The manifest under the artifact's tag with one more signature. What else is in it stays.
///
/// # Errors
///
/// When the manifest that is there is malformed, or is full.
pub(crate) fn with_signature(
    existing: Option<&[u8]>,
    payload: &[u8],
    signature: &str,
) -> Result<SignatureDocuments, ReferrersError> {
    let digest = digest_of(payload);
    let mut manifest: Value = match existing {
        Some(existing) => serde_json::from_slice(existing)?,
        None => json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": []}),
    };
    let malformed = ReferrersError::Malformed { line: 1, column: 1 };
    let layers = manifest.get_mut("layers").and_then(Value::as_array_mut).ok_or(malformed)?;
    let is_it = |known: &Value| {
        known["digest"] == *digest && known["annotations"][SIGNATURE_ANNOTATION] == *signature
    };
    if !layers.iter().any(is_it) {
        layers.push(json!({
            "mediaType": SIMPLE_TYPE,
            "digest": digest,
            "size": payload.len(),
            "annotations": {SIGNATURE_ANNOTATION: signature},
        }));
    }
    let digests: Vec<Value> = layers.iter().map(|layer| layer["digest"].clone()).collect();
    let config = json!({
        "architecture": "", "os": "", "created": "0001-01-01T00:00:00Z", "config": {},
        "history": vec![json!({"created": "0001-01-01T00:00:00Z"}); digests.len()],
        "rootfs": {"type": "layers", "diff_ids": digests},
    });
    let config = config.to_string().into_bytes();
    manifest["config"] =
        json!({"mediaType": CONFIG_TYPE, "digest": digest_of(&config), "size": config.len()});
    let manifest = manifest.to_string().into_bytes();
    if manifest.len() > MANIFEST_BYTES_MAX {
        return Err(ReferrersError::Full);
    }
    Ok(SignatureDocuments { config, manifest })
}

/// A signature as it is kept.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum KeptSignature {
    Simple { payload: String, signature: String, certificate: bool },
    Bundle(String),
}

/// The form in which signatures are kept. One that isn't text isn't: it is none.
pub(crate) fn to_kept(signatures: &[ArtifactSignature]) -> Vec<u8> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let kept: Vec<KeptSignature> = signatures
        .iter()
        .filter_map(|signature| match signature {
            ArtifactSignature::Simple { payload, signature, certificate } => Some(KeptSignature::Simple {
                payload: text(payload)?,
                signature: signature.clone(),
                certificate: *certificate,
            }),
            ArtifactSignature::Bundle(bundle) => Some(KeptSignature::Bundle(text(bundle)?)),
        })
        .collect();
    serde_json::to_vec(&kept).expect("a list of texts has a JSON form")
}

/// Returns what [`to_kept`] wrote; nothing of what is damaged.
pub(crate) fn from_kept(bytes: &[u8]) -> Vec<ArtifactSignature> {
    let kept: Vec<KeptSignature> = serde_json::from_slice(bytes).unwrap_or_default();
    let signatures = kept.into_iter().map(|kept| match kept {
        KeptSignature::Simple { payload, signature, certificate } => {
            ArtifactSignature::Simple { payload: payload.into_bytes(), signature, certificate }
        }
        KeptSignature::Bundle(bundle) => ArtifactSignature::Bundle(bundle.into_bytes()),
    });
    signatures.collect()
}

#[cfg(test)]
mod tests;

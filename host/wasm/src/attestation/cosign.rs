//! Signatures of artifacts in registries as cosign makes them with a key.
//!
//! Two forms count: what `cosign sign --key` puts under the tag `sha256-….sig` (a payload that names the manifest's digest, with a
//! signature next to it), and Sigstore bundles of version 0.3 that refer to the manifest (a DSSE envelope with an in-toto statement, or
//! a signature of the manifest itself). A signature that was made without a key, with a certificate of Fulcio's, is none here: it
//! would take the time and a log of others to verify it.

mod bundle;
mod key;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use thiserror::Error;
use witlet_ports::ArtifactSignature;

pub use key::{ArtifactKey, ArtifactSigningKey};

use super::envelope::decode;
use super::key::KeyError;

/// What a payload says that it is.
const SIMPLE_KIND: &str = "cosign container image signature";
/// What later releases of cosign say, and the predicate of a statement that is a signature.
pub(super) const SIGN_KIND: &str = "https://sigstore.dev/cosign/sign/v1";
/// How much of a foreign text is shown.
const TEXT_CHARS_MAX: usize = 128;

/// What is to be signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedArtifact<'a> {
    /// The digest of its manifest: `sha256:` and hexadecimal digits.
    pub digest: &'a str,
    /// The manifest; empty if it isn't known.
    pub manifest: &'a [u8],
}

/// A signature that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSignature {
    /// [`ArtifactKey::id`] of the signer.
    pub key_id: String,
    /// Place of that key among those that were given.
    pub key_index: usize,
}

/// Why a signature doesn't count. Each in one clause.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignatureFault {
    /// Not in one of the forms.
    #[error("malformed: {what}")]
    Malformed { what: &'static str },
    /// No key made it that lasts.
    #[error("a keyless signature (with a certificate) is not supported: sign with `cosign sign --key`")]
    Keyless,
    /// None of the keys that count.
    #[error("not made with one of the accepted keys{}", with_key(hint.as_deref()))]
    OtherKey {
        /// What it says of its key.
        hint: Option<String>,
    },
    /// Signed with a key that counts, and no signature of an artifact.
    #[error("the signed statement must be {SIGN_KIND}, found {found:?}")]
    Kind { found: String },
    #[error("made for {}, not for this manifest", found.join(", "))]
    OtherArtifact {
        /// Digests that are signed.
        found: Vec<String>,
    },
}

fn with_key(hint: Option<&str>) -> String {
    hint.map_or_else(String::new, |hint| format!(", but with key {hint:?}"))
}

impl SignatureFault {
    /// How near it came to counting: of several, the nearest is what an operator wants to know of.
    fn nearness(&self) -> u8 {
        match self {
            Self::Malformed { .. } => 0,
            Self::Keyless => 1,
            Self::OtherKey { .. } => 2,
            Self::Kind { .. } => 3,
            Self::OtherArtifact { .. } => 4,
        }
    }
}

/// Why none of an artifact's signatures counts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignaturesError {
    #[error("it has no signature")]
    Unsigned,
    /// None counts; this is the one that came nearest.
    #[error("it has {count} signature{}, and none counts", if *count == 1 { "" } else { "s" })]
    NoneCounts {
        /// How many there are.
        count: usize,
        /// What is wrong with the nearest.
        #[source]
        nearest: SignatureFault,
    },
}

/// Returns the first signature of the artifact that one of the keys made.
///
/// # Errors
///
/// When there is none.
pub fn verify_artifact(
    artifact: SignedArtifact<'_>,
    signatures: &[ArtifactSignature],
    keys: &[ArtifactKey],
) -> Result<AcceptedSignature, SignaturesError> {
    let mut nearest: Option<SignatureFault> = None;
    for signature in signatures {
        let verified = match signature {
            ArtifactSignature::Simple { payload, signature, certificate } => {
                simple(artifact, (payload, signature, *certificate), keys)
            }
            ArtifactSignature::Bundle(bundle) => bundle::verify(artifact, bundle, keys),
        };
        match verified {
            Ok(key_index) => return Ok(AcceptedSignature { key_id: keys[key_index].id(), key_index }),
            Err(fault) if nearest.as_ref().is_none_or(|near| near.nearness() < fault.nearness()) => {
                nearest = Some(fault);
            }
            Err(_) => {}
        }
    }
    Err(match nearest {
        Some(nearest) => SignaturesError::NoneCounts { count: signatures.len(), nearest },
        None => SignaturesError::Unsigned,
    })
}

/// The key that made this signature, by its place.
fn signer(keys: &[ArtifactKey], message: &[u8], signature: &[u8]) -> Option<usize> {
    keys.iter().position(|key| key.verifies(message, signature))
}

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Image {
    docker_manifest_digest: String,
}

/// The form of the tag. Nothing is read before its signature was verified.
fn simple(
    artifact: SignedArtifact<'_>,
    (payload, signature, certificate): (&[u8], &str, bool),
    keys: &[ArtifactKey],
) -> Result<usize, SignatureFault> {
    let bytes = decode(signature).ok_or(SignatureFault::Malformed { what: "the signature isn't Base64" })?;
    let signer = signer(keys, payload, &bytes).ok_or(match certificate {
        true => SignatureFault::Keyless,
        false => SignatureFault::OtherKey { hint: None },
    })?;
    let Payload { critical: Critical { image, kind } } = serde_json::from_slice(payload)
        .map_err(|_json| SignatureFault::Malformed { what: "what is signed names no manifest" })?;
    if kind != SIMPLE_KIND && kind != SIGN_KIND {
        return Err(SignatureFault::Kind { found: shown(&kind) });
    }
    if image.docker_manifest_digest != artifact.digest {
        return Err(SignatureFault::OtherArtifact { found: vec![shown(&image.docker_manifest_digest)] });
    }
    Ok(signer)
}

fn shown(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// A payload and its signature, in the form of the tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleSignature {
    /// What is signed, byte for byte.
    pub payload: Vec<u8>,
    /// The signature in Base64.
    pub signature: String,
}

/// Signs the manifest with this digest, which is in the repository `reference` (registry and path).
///
/// # Errors
///
/// When the key can't, which only a system without randomness makes happen.
pub fn sign_artifact(
    reference: &str,
    digest: &str,
    key: &ArtifactSigningKey,
) -> Result<SimpleSignature, KeyError> {
    let payload = serde_json::json!({
        "critical": {
            "identity": {"docker-reference": reference},
            "image": {"docker-manifest-digest": digest},
            "type": SIMPLE_KIND,
        },
        "optional": null,
    });
    let payload = payload.to_string().into_bytes();
    let signature = STANDARD.encode(key.sign(&payload)?);
    Ok(SimpleSignature { payload, signature })
}

/// Signs the manifest with this digest as a Sigstore bundle, which later releases of cosign write.
///
/// # Errors
///
/// When the key can't, which only a system without randomness makes happen.
pub fn sign_bundle(digest: &str, key: &ArtifactSigningKey) -> Result<Vec<u8>, KeyError> {
    bundle::sign(digest, key)
}

#[cfg(test)]
mod tests;

//! Sigstore bundles: JSON of `dev.sigstore.bundle.v1.Bundle`, as far as a key verifies it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::envelope::{self, PAYLOAD_TYPE, decode};
use super::super::key::KeyError;
use super::super::statement::STATEMENT_TYPE;
use super::key::{ArtifactKey, ArtifactSigningKey};
use super::{SIGN_KIND, SignatureFault, SignedArtifact, shown, signer};

/// What the bundle's media type begins with, whatever its version of the form 0.x.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// How many digests of a statement are shown.
const SUBJECTS_SHOWN_MAX: usize = 4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    #[serde(default)]
    verification_material: Material,
    dsse_envelope: Option<Value>,
    message_signature: Option<MessageSignature>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<Hint>,
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Hint {
    #[serde(default)]
    hint: String,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    predicate_type: String,
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    digest: Digests,
}

#[derive(Deserialize)]
struct Digests {
    #[serde(default)]
    sha256: String,
}

impl Material {
    /// Returns what is wrong where no key that counts made the signature.
    fn fault(self) -> SignatureFault {
        let Self { public_key, certificate, x509_certificate_chain } = self;
        if certificate.is_some() || x509_certificate_chain.is_some() {
            return SignatureFault::Keyless;
        }
        let hint = public_key.map(|key| shown(&key.hint)).filter(|hint| !hint.is_empty());
        SignatureFault::OtherKey { hint }
    }
}

/// The place of the key that made the bundle's signature of this artifact.
pub(super) fn verify(
    artifact: SignedArtifact<'_>,
    bundle: &[u8],
    keys: &[ArtifactKey],
) -> Result<usize, SignatureFault> {
    let malformed = |what| SignatureFault::Malformed { what };
    let bundle: Bundle =
        serde_json::from_slice(bundle).map_err(|_json| malformed("not a Sigstore bundle"))?;
    let Bundle { media_type, verification_material, dsse_envelope, message_signature } = bundle;
    if !media_type.starts_with(MEDIA_TYPE) {
        return Err(malformed("not a Sigstore bundle"));
    }
    match (dsse_envelope, message_signature) {
        (Some(envelope), _) => enveloped(artifact, &envelope, verification_material, keys),
        (None, Some(signature)) => {
            let signature = decode(&signature.signature).ok_or(malformed("the signature isn't Base64"))?;
            // Without its bytes no one can say what was signed.
            let found = format!("sha256:{}", hex::encode(Sha256::digest(artifact.manifest)));
            if found != artifact.digest {
                return Err(SignatureFault::OtherArtifact { found: vec![found] });
            }
            signer(keys, artifact.manifest, &signature).ok_or_else(|| verification_material.fault())
        }
        (None, None) => Err(malformed("the bundle has neither an envelope nor a signature")),
    }
}

/// A bundle of version 0.3 with the statement that the manifest with this digest is signed.
pub(super) fn sign(digest: &str, key: &ArtifactSigningKey) -> Result<Vec<u8>, KeyError> {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "", "digest": {"sha256": hex}}],
        "predicateType": SIGN_KIND,
        "predicate": {},
    });
    let payload = statement.to_string().into_bytes();
    let signature = key.sign(&envelope::authenticated(PAYLOAD_TYPE, &payload))?;
    let bundle = json!({
        "mediaType": format!("{MEDIA_TYPE}.v0.3+json"),
        "verificationMaterial": {"publicKey": {"hint": key.public().hint()}},
        "dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": STANDARD.encode(signature)}],
        },
    });
    Ok(bundle.to_string().into_bytes())
}

fn enveloped(
    artifact: SignedArtifact<'_>,
    envelope: &Value,
    material: Material,
    keys: &[ArtifactKey],
) -> Result<usize, SignatureFault> {
    let malformed = |what| SignatureFault::Malformed { what };
    let opened = envelope::open(envelope.to_string().as_bytes());
    let envelope = opened.map_err(|_fault| malformed("its envelope can't be read"))?;
    let message = envelope::authenticated(&envelope.payload_type, &envelope.payload);
    let signers = envelope.signatures.iter().find_map(|signature| signer(keys, &message, &signature.bytes));
    let signer = signers.ok_or_else(|| material.fault())?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(SignatureFault::Kind { found: shown(&envelope.payload_type) });
    }
    let Statement { predicate_type, subject } = serde_json::from_slice(&envelope.payload)
        .map_err(|_json| malformed("the payload is not an in-toto statement"))?;
    // A key also signs what was found out about an artifact, and that may be that it is bad.
    if predicate_type != SIGN_KIND {
        return Err(SignatureFault::Kind { found: shown(&predicate_type) });
    }
    let found: Vec<String> =
        subject.into_iter().map(|subject| format!("sha256:{}", subject.digest.sha256)).collect();
    if found.iter().any(|digest| digest == artifact.digest) {
        Ok(signer)
    } else {
        let found = found.iter().take(SUBJECTS_SHOWN_MAX).map(|digest| shown(digest)).collect();
        Err(SignatureFault::OtherArtifact { found })
    }
}

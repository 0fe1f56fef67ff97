//! Detached Ed25519 signatures (RFC 8032) over the bytes of a bundle, in base64: in the header `Witlet-Signature` of the
//! answer, or in a file next to it. `openssl pkeyutl -sign -rawin` and every library make them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde::Deserialize;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The header of an answer that carries its signature.
pub(crate) const SIGNATURE_HEADER: &str = "Witlet-Signature";

/// A bundle whose origin isn't proven.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SignatureError {
    #[error("the signature isn't 64 bytes in base64")]
    Form,
    #[error("none of the configured keys has signed the bundle")]
    Unproven,
}

/// A key that is no key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a public key must be the 32 bytes of an Ed25519 key in base64")]
pub(crate) struct KeyError;

/// Who may sign.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct PublicKey(VerifyingKey);

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| KeyError)?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError)?;
        // Such keys have signatures that hold for anything.
        if key.is_weak() { Err(KeyError) } else { Ok(Self(key)) }
    }
}

/// Whether one of the keys has signed the bytes.
pub(crate) fn verify(bytes: &[u8], signature: &str, keys: &[PublicKey]) -> Result<(), SignatureError> {
    let signature = STANDARD.decode(signature.trim()).map_err(|_| SignatureError::Form)?;
    let signature: [u8; 64] = signature.try_into().map_err(|_| SignatureError::Form)?;
    let signature = Signature::from_bytes(&signature);
    let proven = keys.iter().any(|PublicKey(key)| key.verify_strict(bytes, &signature).is_ok());
    if proven { Ok(()) } else { Err(SignatureError::Unproven) }
}

/// The URL with `.sig` behind its path.
pub(crate) fn signature_url(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    match url.split_once('?') {
        Some((path, query)) => format!("{path}.sig?{query}"),
        None => format!("{url}.sig"),
    }
}

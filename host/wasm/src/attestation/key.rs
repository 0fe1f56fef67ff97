//! Ed25519 keys as `openssl` writes them.

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use thiserror::Error;

use super::pem::{self, PemFault};

/// How large a key's file may be; those of `openssl` have 120 bytes.
pub const KEY_BYTES_MAX: usize = 64 << 10;

/// Label of a private key (RFC 5958, PKCS#8).
pub(super) const PRIVATE: &str = "PRIVATE KEY";
/// Label of a private key with a password.
pub(super) const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
/// Label of a public key (RFC 5280, SubjectPublicKeyInfo).
pub(super) const PUBLIC: &str = "PUBLIC KEY";
/// What stands before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410).
pub(super) const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Bytes of an Ed25519 public key.
const PUBLIC_BYTES: usize = 32;

/// Why a text is no key for this. Says nothing of its content, and each says the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// More bytes than a key has.
    #[error("a key must have at most {KEY_BYTES_MAX} bytes")]
    TooLarge,
    /// Not text, or no PEM block.
    #[error("not a PEM file: create a key with `openssl genpkey -algorithm ed25519`")]
    NotPem,
    #[error("malformed PEM block: export the key again")]
    Malformed,
    /// More than one key.
    #[error("expected one PEM block, found several: keep each key in a file of its own")]
    Several,
    /// The private key in place of the public one.
    #[error("expected a public key, found a private one: export it with `openssl pkey -in KEY.pem -pubout`")]
    Private,
    /// The public key in place of the private one.
    #[error("expected a private key, found a public one: signing needs the private key")]
    Public,
    #[error("a key with a password is not supported: write it without one, with mode 0600")]
    Encrypted,
    /// Another kind of thing.
    #[error("expected an Ed25519 key: create one with `openssl genpkey -algorithm ed25519`")]
    Kind,
    /// Another kind of thing, where cosign's kinds count.
    #[error(
        "expected a key of ECDSA (P-256, P-384), Ed25519 or RSA (2048 bits or more): create one with `cosign generate-key-pair` or `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`"
    )]
    ArtifactKind,
    /// A private key in cosign's own form.
    #[error(
        "a private key of cosign with a password is not supported: sign with `cosign sign --key`, or with a key of `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`"
    )]
    OfCosign,
    /// The system has no randomness, which a signature takes.
    #[error("failed to sign: the system has no random numbers")]
    Random,
}

pub(super) fn block(text: &[u8]) -> Result<pem::Block, KeyError> {
    if text.len() > KEY_BYTES_MAX {
        return Err(KeyError::TooLarge);
    }
    let text = std::str::from_utf8(text).map_err(|_binary| KeyError::NotPem)?;
    pem::block(text).map_err(|fault| match fault {
        PemFault::Missing => KeyError::NotPem,
        PemFault::Several => KeyError::Several,
        PemFault::Malformed => KeyError::Malformed,
    })
}

/// The half that signs.
pub struct SigningKey(Ed25519KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public().id()).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a PKCS#8 PEM file's content.
    ///
    /// # Errors
    ///
    /// When it is anything else than one unencrypted Ed25519 private key.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let block = block(text)?;
        match block.label.as_str() {
            PRIVATE => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&block.der)
                .map(Self)
                .map_err(|_rejected| KeyError::Kind),
            ENCRYPTED => Err(KeyError::Encrypted),
            PUBLIC => Err(KeyError::Public),
            _ => Err(KeyError::Kind),
        }
    }

    /// The half that others verify with.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; PUBLIC_BYTES];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

/// The half that verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo PEM file's content.
    ///
    /// # Errors
    ///
    /// When it is anything else than one Ed25519 public key.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let block = block(text)?;
        match block.label.as_str() {
            PUBLIC => {
                let bytes = block.der.strip_prefix(&SPKI_PREFIX).ok_or(KeyError::Kind)?;
                bytes.try_into().map(Self).map_err(|_length| KeyError::Kind)
            }
            PRIVATE | ENCRYPTED => Err(KeyError::Private),
            _ => Err(KeyError::Kind),
        }
    }

    /// Returns the text as a SubjectPublicKeyInfo PEM file has it.
    pub fn to_pem(&self) -> String {
        pem::write(PUBLIC, &self.spki())
    }

    /// Returns what envelopes call it: the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal.
    pub fn id(&self) -> String {
        use sha2::Digest as _;
        hex::encode(sha2::Sha256::digest(self.spki()))
    }

    fn spki(&self) -> Vec<u8> {
        [SPKI_PREFIX.as_slice(), self.0.as_slice()].concat()
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

#[cfg(test)]
mod tests;

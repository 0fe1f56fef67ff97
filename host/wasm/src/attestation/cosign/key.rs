//! Keys of the kinds that cosign takes, as `cosign generate-key-pair` and `openssl` write them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use sha2::Digest as _;

use super::super::key::{ENCRYPTED, KeyError, PRIVATE, PUBLIC, SPKI_PREFIX, block};

/// What stands before the 65 bytes of a point of P-256 in a SubjectPublicKeyInfo (RFC 5480).
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Before the 97 bytes of a point of P-384.
const P384_PREFIX: [u8; 23] = [
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81,
    0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];
/// The algorithm of an RSA key (RFC 3279).
const RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// Labels of private keys that cosign writes, which have a password.
const OF_COSIGN: [&str; 2] = ["ENCRYPTED COSIGN PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY"];
/// A DER sequence, and a string of bits.
const SEQUENCE: u8 = 0x30;
const BITS: u8 = 0x03;

/// How keys of each kind sign. Releases of cosign differ in the digest that belongs to P-384.
static BY_P256: &[&dyn VerificationAlgorithm] = &[&ECDSA_P256_SHA256_ASN1];
static BY_P384: &[&dyn VerificationAlgorithm] = &[&ECDSA_P384_SHA256_ASN1, &ECDSA_P384_SHA384_ASN1];
static BY_ED25519: &[&dyn VerificationAlgorithm] = &[&ED25519];
static BY_RSA: &[&dyn VerificationAlgorithm] = &[&RSA_PKCS1_2048_8192_SHA256];

/// The kinds of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    P256,
    P384,
    Ed25519,
    Rsa,
}

impl Kind {
    /// Ways of signing that are tried.
    fn algorithms(self) -> &'static [&'static dyn VerificationAlgorithm] {
        match self {
            Self::P256 => BY_P256,
            Self::P384 => BY_P384,
            Self::Ed25519 => BY_ED25519,
            Self::Rsa => BY_RSA,
        }
    }
}

/// The half that verifies: ECDSA of P-256 or P-384, Ed25519, or RSA with 2048 to 8192 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct ArtifactKey {
    kind: Kind,
    spki: Vec<u8>,
    /// What of it the algorithm takes.
    key: Vec<u8>,
}

impl fmt::Debug for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactKey").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl ArtifactKey {
    /// Reads a SubjectPublicKeyInfo PEM file's content, such as `cosign.pub`.
    ///
    /// # Errors
    ///
    /// When it is anything else than one public key of these kinds.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let block = block(text)?;
        match block.label.as_str() {
            PUBLIC => Self::from_spki(block.der),
            PRIVATE | ENCRYPTED => Err(KeyError::Private),
            label if OF_COSIGN.contains(&label) => Err(KeyError::Private),
            _ => Err(KeyError::ArtifactKind),
        }
    }

    fn from_spki(spki: Vec<u8>) -> Result<Self, KeyError> {
        let fixed = [(&P256_PREFIX[..], Kind::P256, 65), (&P384_PREFIX[..], Kind::P384, 97)];
        let fixed = fixed.into_iter().chain([(&SPKI_PREFIX[..], Kind::Ed25519, 32)]);
        let found = fixed.into_iter().find_map(|(prefix, kind, bytes)| {
            let key = spki.strip_prefix(prefix)?;
            (key.len() == bytes).then(|| (kind, key.to_vec()))
        });
        let found = found.or_else(|| Some((Kind::Rsa, rsa(&spki)?.to_vec())));
        let (kind, key) = found.ok_or(KeyError::ArtifactKind)?;
        Ok(Self { kind, spki, key })
    }

    /// The SHA-256 of its SubjectPublicKeyInfo, in hexadecimal.
    pub fn id(&self) -> String {
        hex::encode(sha2::Sha256::digest(&self.spki))
    }

    /// What bundles say of the key that signed them: the same digest in Base64.
    pub(super) fn hint(&self) -> String {
        STANDARD.encode(sha2::Sha256::digest(&self.spki))
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.kind
            .algorithms()
            .iter()
            .any(|algorithm| UnparsedPublicKey::new(*algorithm, &self.key).verify(message, signature).is_ok())
    }
}

/// The key in a SubjectPublicKeyInfo of RSA.
fn rsa(spki: &[u8]) -> Option<&[u8]> {
    let inner = only(SEQUENCE, spki)?;
    let bits = only(BITS, inner.strip_prefix(&RSA)?)?;
    // No bit of the last byte is unused.
    bits.strip_prefix(&[0])
}

/// The content of the one DER value that these bytes are, if it has this tag.
fn only(tag: u8, der: &[u8]) -> Option<&[u8]> {
    let (found, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, content) = match *length {
        short @ ..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x83 => {
            let (digits, content) = rest.split_at_checked(usize::from(long - 0x80))?;
            (digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), content)
        }
        _ => return None,
    };
    (*found == tag && content.len() == length).then_some(content)
}

/// The half that signs: ECDSA of P-256, which is cosign's own choice, or Ed25519.
pub struct ArtifactSigningKey(Half);

enum Half {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for ArtifactSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactSigningKey").finish_non_exhaustive()
    }
}

impl ArtifactSigningKey {
    /// Reads a PKCS#8 PEM file's content.
    ///
    /// # Errors
    ///
    /// When it is anything else than one private key of these kinds without a password.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let block = block(text)?;
        match block.label.as_str() {
            PRIVATE => {
                let random = SystemRandom::new();
                let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &block.der, &random);
                let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(&block.der);
                let half = p256.map(Half::P256).or_else(|_other| ed25519().map(Half::Ed25519));
                half.map(Self).map_err(|_rejected| KeyError::ArtifactKind)
            }
            label if OF_COSIGN.contains(&label) => Err(KeyError::OfCosign),
            ENCRYPTED => Err(KeyError::Encrypted),
            PUBLIC => Err(KeyError::Public),
            _ => Err(KeyError::ArtifactKind),
        }
    }

    /// The half that others verify with.
    pub fn public(&self) -> ArtifactKey {
        let (kind, prefix, key) = match &self.0 {
            Half::P256(pair) => (Kind::P256, &P256_PREFIX[..], pair.public_key().as_ref()),
            Half::Ed25519(pair) => (Kind::Ed25519, &SPKI_PREFIX[..], pair.public_key().as_ref()),
        };
        ArtifactKey { kind, spki: [prefix, key].concat(), key: key.to_vec() }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            Half::P256(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message);
                signed.map(|signature| signature.as_ref().to_vec()).map_err(|_unspecified| KeyError::Random)
            }
            Half::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

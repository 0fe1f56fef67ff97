//! Digests as the OCI specifications write them.

use sha2::{Digest, Sha256};

/// `sha256:` and the digest of these bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    text_of(Sha256::digest(bytes).as_slice())
}

/// `sha256:` and these bytes in hexadecimal.
pub(crate) fn text_of(digest: &[u8]) -> String {
    format!("sha256:{}", hex::encode(digest))
}

//! The envelope: DSSE v1 (<https://github.com/secure-systems-lab/dsse>).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use serde::{Deserialize, Serialize};

use super::key::SigningKey;

/// What the payload is: an in-toto Statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// How large an envelope may be. One of the kit has two thousand bytes.
pub const ENVELOPE_BYTES_MAX: usize = 256 << 10;
/// How many signatures of an envelope are checked.
pub const SIGNATURES_MAX: usize = 16;

/// Verifiers take both alphabets, as the protocol demands.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ANY_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const ANY_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// As it is written.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    payload_type: String,
    payload: String,
    signatures: Vec<SignatureDocument>,
}

#[derive(Deserialize, Serialize)]
struct SignatureDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyid: Option<String>,
    sig: String,
}

/// An envelope whose signatures weren't verified yet.
pub(crate) struct Envelope {
    pub(crate) payload_type: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) signatures: Vec<Signature>,
}

/// One signature; the id is a hint, which nothing vouches for.
pub(crate) struct Signature {
    pub(crate) key_id: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Why bytes are no envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeFault {
    /// More than [`ENVELOPE_BYTES_MAX`].
    TooLarge,
    /// No JSON, or of another shape.
    Malformed { line: usize, column: usize },
    /// A payload or signature that isn't Base64.
    Base64,
    /// More than [`SIGNATURES_MAX`].
    Signatures { count: usize },
}

/// Returns what is signed: the pre-authentication encoding.
pub(crate) fn authenticated(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

/// Wraps and signs a payload.
pub(crate) fn sign(payload: &[u8], key: &SigningKey) -> Vec<u8> {
    let signature = key.sign(&authenticated(PAYLOAD_TYPE, payload));
    let document = Document {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(payload),
        signatures: vec![SignatureDocument {
            keyid: Some(key.public().id()),
            sig: STANDARD.encode(signature),
        }],
    };
    let mut text = serde_json::to_vec_pretty(&document).expect("texts and lists of them have a JSON form");
    text.push(b'\n');
    text
}

/// Takes an envelope apart.
pub(crate) fn open(bytes: &[u8]) -> Result<Envelope, EnvelopeFault> {
    if bytes.len() > ENVELOPE_BYTES_MAX {
        return Err(EnvelopeFault::TooLarge);
    }
    let Document { payload_type, payload, signatures } = serde_json::from_slice(bytes)
        .map_err(|error| EnvelopeFault::Malformed { line: error.line(), column: error.column() })?;
    if signatures.len() > SIGNATURES_MAX {
        return Err(EnvelopeFault::Signatures { count: signatures.len() });
    }
    let signatures = signatures
        .into_iter()
        .map(|signature| Some(Signature { key_id: signature.keyid, bytes: decode(&signature.sig)? }));
    let signatures = signatures.collect::<Option<_>>().ok_or(EnvelopeFault::Base64)?;
    Ok(Envelope { payload_type, payload: decode(&payload).ok_or(EnvelopeFault::Base64)?, signatures })
}

/// Base64 of either alphabet, with or without its padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    ANY_STANDARD.decode(text).or_else(|_other| ANY_URL_SAFE.decode(text)).ok()
}

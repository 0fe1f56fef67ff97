//! Bytes in parameters and in messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use witlet_plugin_sdk::Error;

/// At most so many bytes are shown.
const SHOWN_BYTES_MAX: usize = 64;

/// Bytes, written one of three ways.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bytes {
    /// As UTF-8.
    Text(String),
    /// Two digits for each byte; spaces don't count.
    Hex(String),
    /// RFC 4648, with its padding.
    Base64(String),
}

impl Bytes {
    /// The bytes themselves.
    pub(crate) fn decode(&self, field: &str) -> Result<Vec<u8>, Error> {
        let decoded = match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Hex(digits) => hex(digits),
            Self::Base64(text) => STANDARD.decode(text).ok(),
        };
        decoded.ok_or_else(|| match self {
            Self::Hex(digits) => Error::invalid(field, format!("{digits:?} isn't hexadecimal")),
            Self::Text(text) | Self::Base64(text) => Error::invalid(field, format!("{text:?} isn't base64")),
        })
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|character| *character != ' ')
        .map(|character| character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| (high << 4) | low).collect())
}

/// The first bytes, what isn't ASCII escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let (shown, more) = bytes.split_at(bytes.len().min(SHOWN_BYTES_MAX));
    let dots = if more.is_empty() { "" } else { "…" };
    format!("{}{dots}", shown.escape_ascii())
}

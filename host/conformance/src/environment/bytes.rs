//! Bytes as case files write them: text, `{hex: "00 ff"}`, `{base64: "AP8="}` or `{repeat: ["x", 1000]}`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, de};

/// How large bytes may be that are written as a text and a number.
const REPEATED_BYTES_MAX: usize = 16 << 20;

#[derive(Deserialize)]
#[serde(untagged)]
enum BytesForm {
    Text(String),
    Coded(CodedBytes),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum CodedBytes {
    Hex(String),
    Base64(String),
    /// A text so often: for inputs that are large.
    Repeat(String, usize),
}

/// For `deserialize_with`.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let coded = match BytesForm::deserialize(deserializer)? {
        BytesForm::Text(text) => return Ok(text.into_bytes()),
        BytesForm::Coded(coded) => coded,
    };
    match coded {
        CodedBytes::Hex(text) => {
            // Spaces are for readers.
            hex::decode(text.replace(' ', ""))
                .map_err(|error| de::Error::custom(format!("{text:?}: {error}")))
        }
        CodedBytes::Base64(text) => {
            STANDARD.decode(&text).map_err(|error| de::Error::custom(format!("{text:?}: {error}")))
        }
        CodedBytes::Repeat(text, times) if text.len().saturating_mul(times) <= REPEATED_BYTES_MAX => {
            Ok(text.repeat(times).into_bytes())
        }
        CodedBytes::Repeat(..) => Err(de::Error::custom(format!("more than {REPEATED_BYTES_MAX} bytes"))),
    }
}

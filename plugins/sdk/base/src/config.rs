//! The plugin's own configuration, and the parameters of probes: JSON that decodes to the plugin's types.

use std::any::TypeId;

use serde::de::DeserializeOwned;

use crate::Error;

/// Decodes what the host gives as configuration. A plugin without `config:` gets `null`; a type that can't be made
/// from that is made from `{}`, so that its fields' defaults count and a missing field is named.
///
/// # Errors
/// When the text doesn't decode to the type; a `()` takes nothing but `null` and `{}`.
pub fn parse<C: DeserializeOwned + 'static>(text: &str) -> Result<C, Error> {
    decode(text).map_err(|refusal| match refusal {
        Refusal::NothingTaken => Error::ConfigNotTaken,
        Refusal::Json { field, cause } => Error::Config { field, cause },
    })
}

/// Decodes the parameters of a probe, which are `null` if there are none, by the same rules as [`parse`].
///
/// # Errors
/// When the text doesn't decode to the type; a `()` takes nothing but `null` and `{}`.
pub fn parse_parameters<P: DeserializeOwned + 'static>(text: &str) -> Result<P, Error> {
    decode(text).map_err(|refusal| match refusal {
        Refusal::NothingTaken => Error::ParametersNotTaken,
        Refusal::Json { field, cause } => Error::Parameters { field, cause },
    })
}

/// Why a text doesn't decode.
enum Refusal {
    /// There is something, and the type is `()`.
    NothingTaken,
    /// What doesn't fit, and where.
    Json {
        /// Empty for the whole.
        field: String,
        /// What doesn't fit.
        cause: serde_json::Error,
    },
}

fn decode<C: DeserializeOwned + 'static>(text: &str) -> Result<C, Refusal> {
    let text = text.trim();
    // Decided when the plugin is compiled: one without configuration carries no decoder.
    if TypeId::of::<C>() == TypeId::of::<()>() {
        return match text {
            "null" | "{}" => {
                serde::Deserialize::deserialize(Nothing).map_err(|Refused| Refusal::NothingTaken)
            }
            _ => Err(Refusal::NothingTaken),
        };
    }
    if text == "null" {
        if let Ok(config) = serde_json::from_str(text) {
            return Ok(config);
        }
        return located("{}");
    }
    located(text)
}

/// Decodes, and says in which field it fails: `port`, not just the column of a text that users don't see.
fn located<C: DeserializeOwned>(text: &str) -> Result<C, Refusal> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        // A text that isn't JSON breaks off in no field, and `.` is the whole.
        let field = if cause.is_data() && path != "." { path } else { String::new() };
        Refusal::Json { field, cause }
    })?;
    json.end().map_err(|cause| Refusal::Json { field: String::new(), cause })?;
    Ok(value)
}

/// A deserializer of nothing but `()`.
struct Nothing;

/// Why [`Nothing`] refuses anything else.
#[derive(Debug)]
struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is nothing to decode")
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> serde::Deserializer<'de> for Nothing {
    type Error = Refused;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;

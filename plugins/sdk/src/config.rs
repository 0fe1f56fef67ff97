//! The plugin's configuration.

use std::any::TypeId;

use serde::de::DeserializeOwned;

use crate::Error;

/// Decodes what the host gives as configuration. A plugin without `config:` gets `null`; a type that can't be made
/// from that is made from `{}`, so that its fields' defaults count and a missing field is named.
///
/// # Errors
/// When the text doesn't decode to the type; a `()` takes nothing but `null` and `{}`.
pub fn parse<C: DeserializeOwned + 'static>(text: &str) -> Result<C, Error> {
    let text = text.trim();
    // Decided when the handler is compiled: a handler without configuration carries no decoder.
    if TypeId::of::<C>() == TypeId::of::<()>() {
        return match text {
            "null" | "{}" => {
                serde::Deserialize::deserialize(Nothing).map_err(|Refused| Error::ConfigNotTaken)
            }
            _ => Err(Error::ConfigNotTaken),
        };
    }
    if text == "null" {
        if let Ok(config) = serde_json::from_str(text) {
            return Ok(config);
        }
        return serde_json::from_str("{}").map_err(|cause| Error::Config { cause });
    }
    serde_json::from_str(text).map_err(|cause| Error::Config { cause })
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

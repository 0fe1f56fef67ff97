//! Fields of values.

use witlet_cel::{Map, Value};

/// A field of an object.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Map(map) => Map::field(map, name),
        _ => None,
    }
}

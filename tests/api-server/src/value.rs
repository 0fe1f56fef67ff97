//! Small helpers on JSON objects.

use serde_json::{Map, Value};

/// The text at a JSON pointer; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

/// The list at a JSON pointer; empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The object under this key, made if it isn't there.
pub(crate) fn object<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let slot = as_map(value).entry(key).or_insert_with(|| Value::Object(Map::new()));
    as_map(slot)
}

/// The value as an object; what is none becomes an empty one.
pub(crate) fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}

/// Gives `to` what `from` has under this key, and nothing if it has nothing.
pub(crate) fn take_over(to: &mut Value, from: &Value, key: &str) {
    match from.get(key) {
        Some(value) => {
            as_map(to).insert(key.to_owned(), value.clone());
        }
        None => {
            as_map(to).remove(key);
        }
    }
}

/// `metadata`, made if it isn't there.
pub(crate) fn metadata(value: &mut Value) -> &mut Map<String, Value> {
    object(value, "metadata")
}

/// Sets a key if it isn't there.
pub(crate) fn default_to(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value.into());
    }
}

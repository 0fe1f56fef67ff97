//! Manifests as JSON: what is missing, or of another type, is nothing.

use serde_json::Value;

/// A text; empty if there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list's items; none if it is no list.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    items(value).iter().map(text).collect()
}

/// The texts of an object, sorted by key.
pub(crate) fn pairs(value: &Value) -> Vec<(String, String)> {
    let entries = value.as_object().into_iter().flatten();
    let mut pairs: Vec<(String, String)> =
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    pairs.sort();
    pairs
}

/// A text that isn't empty.
pub(crate) fn word(value: &Value) -> Option<String> {
    value.as_str().filter(|word| !word.is_empty()).map(str::to_owned)
}

/// The JSON text at a pointer.
pub(crate) fn pointer(value: &Value, path: &str) -> Option<String> {
    value.pointer(path).map(Value::to_string)
}

//! What an event or a span says of itself: its message, and fields under the keys that klog has for them.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use tracing::field::{Field, Visit};

/// The message is a field of this name.
const MESSAGE: &str = "message";

/// The key of a cause.
pub(super) const ERROR_KEY: &str = "err";

/// The key of a list of pods, which is recorded as the text that a list is printed as.
pub(super) const PODS_KEY: &str = "pods";

/// Words that keys have in capitals, unless they begin with them.
const CAPITALS: &[(&str, &str)] = &[("id", "ID"), ("ip", "IP"), ("uid", "UID"), ("url", "URL")];

/// A key, as lines have it.
pub(super) type Key = Cow<'static, str>;

/// A message and fields. The last value of a key counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) found: Vec<(Key, Value)>,
}

impl Fields {
    pub(super) fn set(&mut self, key: Key, value: Value) {
        match self.found.iter_mut().find(|(there, _)| *there == key) {
            Some((_, there)) => *there = value,
            None => self.found.push((key, value)),
        }
    }

    /// Takes a field away.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.found.iter().position(|(there, _)| *there == key)?;
        Some(self.found.remove(at).1)
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            (MESSAGE, Value::String(text)) => self.message = text,
            (MESSAGE, value) => self.message = value.to_string(),
            (PODS_KEY, Value::String(text)) => self.set(PODS_KEY.into(), list(text)),
            (name, value) => self.set(key(name), value),
        }
    }
}

/// `["default/a", "default/b"]` as a list.
fn list(text: String) -> Value {
    serde_json::from_str::<Vec<String>>(&text).map_or_else(|_| Value::from(text), Value::from)
}

/// A field's key: `retry_in` becomes `retryIn`, `pod_uid` becomes `podUID`, `error` becomes `err`.
pub(super) fn key(name: &'static str) -> Key {
    let name = name.strip_prefix("r#").unwrap_or(name);
    if name == "error" {
        return ERROR_KEY.into();
    }
    if !name.contains('_') {
        return name.into();
    }
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let mut key = words.next().unwrap_or_default().to_owned();
    for word in words {
        if let Some((_, capitals)) = CAPITALS.iter().find(|(small, _)| *small == word) {
            key.push_str(capitals);
            continue;
        }
        let mut letters = word.chars();
        key.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        key.push_str(letters.as_str());
    }
    key.into()
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::from(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::from(value));
    }

    /// What JSON has no number for is a text, as upstream.
    fn record_f64(&mut self, field: &Field, value: f64) {
        let text = match value {
            f64::INFINITY => "+Inf",
            f64::NEG_INFINITY => "-Inf",
            value if value.is_nan() => "NaN",
            value => return self.put(field, Value::from(value)),
        };
        self.put(field, Value::from(text));
    }
}

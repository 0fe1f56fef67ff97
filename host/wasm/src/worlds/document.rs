//! A Kubernetes object as guests check it.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::Value;

/// An object as JSON, as text and as a tree, each made when someone first asks.
#[derive(Debug, Default)]
pub(crate) struct Document {
    text: OnceLock<String>,
    tree: OnceLock<Value>,
}

impl Document {
    /// The whole `object`.
    pub(crate) fn text(&self, object: &impl Serialize) -> &str {
        // Kubernetes objects have string keys and finite numbers; there is nothing that JSON couldn't hold.
        self.text.get_or_init(|| serde_json::to_string(object).unwrap_or_default())
    }

    /// Makes both now.
    pub(crate) fn prepare(&self, object: &impl Serialize) {
        self.text(object);
        self.tree(object);
    }

    fn tree(&self, object: &impl Serialize) -> &Value {
        self.tree.get_or_init(|| serde_json::to_value(object).unwrap_or_default())
    }

    /// Returns what a JSON pointer (RFC 6901) points at in `object`, as JSON text.
    pub(crate) fn pointer(&self, object: &impl Serialize, path: &str) -> Option<String> {
        self.tree(object).pointer(path).map(Value::to_string)
    }
}

//! Whether a toleration is one for a taint.

use crate::Taint;
use serde::Deserialize;

/// One of `spec.tolerations`. For how long a taint is tolerated matters to eviction alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Toleration {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
}

impl Toleration {
    /// Upstream's `ToleratesTaint`: an empty effect is every effect, an empty key every key; the operator is `Equal` unless
    /// it says otherwise.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (key, effect) = (text(&self.key), text(&self.effect));
        if !effect.is_empty() && effect != taint.effect || !key.is_empty() && key != taint.key {
            return false;
        }
        match text(&self.operator).as_str() {
            "" | "Equal" => text(&self.value) == taint.value,
            "Exists" => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;

//! Flags with their values, as `/flagz` shows them: what was given, else the default, in pflag's forms.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Flags;
use super::table::{FLAGS, Flag, Own, Target};
use crate::kubelet::configuration::defaults::defaulted;
use crate::kubelet::configuration::fields::Kind;

#[cfg(test)]
mod tests;

/// Flags whose values may be secrets: headers with tokens, and a password.
const CLASSIFIED: [&str; 2] = ["manifest-url-header", "storage-driver-password"];

/// What stands in the place of a value that no one is shown.
const CLASSIFIED_VALUE: &str = "CLASSIFIED";

/// Flags whose pairs pflag writes with `<`.
const THRESHOLDS: [&str; 2] = ["eviction-hard", "eviction-soft"];

/// The values of all flags by their names.
pub(crate) fn flagz(flags: &Flags) -> BTreeMap<String, String> {
    let defaults = defaulted(&json!({}));
    FLAGS
        .iter()
        .map(|flag| (flag.name.to_owned(), shown(flag, flags.given.get(flag.name), &defaults)))
        .collect()
}

fn shown(flag: &Flag, given: Option<&Value>, defaults: &Value) -> String {
    let value = given.cloned().unwrap_or_else(|| default_of(flag, defaults));
    if CLASSIFIED.contains(&flag.name) && !is_empty(&value) {
        return CLASSIFIED_VALUE.to_owned();
    }
    match value {
        Value::Null => nothing(flag.kind).to_owned(),
        Value::String(text) => text,
        Value::Array(items) if flag.kind == Kind::Taints => joined(items.iter().map(taint)),
        Value::Array(items) if flag.kind == Kind::FilePatterns => joined(items.iter().map(file_pattern)),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(scalar))),
        Value::Object(pairs) => pairs_text(flag, &pairs),
        other => other.to_string(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(pairs) => pairs.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The default of the flag's field, or of a flag that has none and a default that isn't empty.
fn default_of(flag: &Flag, defaults: &Value) -> Value {
    match flag.target {
        Target::Field(path) => {
            let pointer = format!("/{}", path.replace('.', "/"));
            defaults.pointer(&pointer).cloned().unwrap_or(Value::Null)
        }
        Target::Own(Own::CertDir) => json!("/var/lib/kubelet/pki"),
        Target::Own(Own::RootDir) => json!("/var/lib/kubelet"),
        Target::Own(Own::MaximumDeadContainers) => json!(-1),
        Target::Own(Own::MaximumDeadContainersPerContainer) => json!(1),
        Target::Own(Own::Version) => json!("false"),
        Target::Own(_) | Target::NotYet(_) | Target::Nothing => Value::Null,
    }
}

/// How pflag writes a value that isn't set.
fn nothing(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "false",
        Kind::Int | Kind::Float | Kind::Verbosity | Kind::Quantity => "0",
        Kind::Duration | Kind::Period => "0s",
        Kind::Texts | Kind::Ints => "[]",
        Kind::Text
        | Kind::TextMap
        | Kind::BoolMap
        | Kind::TextsMap
        | Kind::Maps(_)
        | Kind::Taints
        | Kind::FilePatterns
        | Kind::Any => "",
    }
}

fn pairs_text(flag: &Flag, pairs: &Map<String, Value>) -> String {
    let separator = if THRESHOLDS.contains(&flag.name) { '<' } else { '=' };
    joined(pairs.iter().map(|(name, value)| format!("{name}{separator}{}", scalar(value))))
}

fn taint(taint: &Value) -> String {
    let part = |name: &str| taint[name].as_str().unwrap_or_default();
    let value = if part("value").is_empty() { String::new() } else { format!("={}", part("value")) };
    format!("{}{value}:{}", part("key"), part("effect"))
}

fn file_pattern(file: &Value) -> String {
    format!("{}={}", scalar(&file["filePattern"]), file["verbosity"])
}

fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

//! Whether a value fits a schema, and what of it doesn't; and a schema in lines for people.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};
use thiserror::Error;

use super::{Node, Others, Schema, Type, cut, joined, shown};

/// How many findings a check has at most.
pub const FINDINGS_MAX: usize = 8;
/// How many names a finding lists at most.
const NAMES_MAX: usize = 8;
/// How much of a description is shown.
const DESCRIPTION_BYTES_MAX: usize = 256;

/// Something in a value that doesn't fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct Mismatch {
    /// Where, such as `config.mirrors[0].host`.
    pub path: String,
    /// What was expected, and what was found.
    pub problem: String,
}

/// A field at the top of a configuration, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOutline {
    pub name: String,
    /// Its types, such as `string or null`; `any` where the schema names none.
    pub types: String,
    /// Whether it must be there.
    pub is_required: bool,
    /// What the schema says of it.
    pub description: Option<String>,
}

impl Schema {
    /// Returns what in the value doesn't fit, in the order of the value, at most [`FINDINGS_MAX`]; `name` is what paths begin with.
    pub fn mismatches(&self, value: &Value, name: &str) -> Vec<Mismatch> {
        let mut found = Vec::new();
        check(&self.root, value, name, &mut found);
        found.truncate(FINDINGS_MAX);
        found
    }

    /// The fields that it names, those first that must be there.
    pub fn outline(&self) -> Vec<FieldOutline> {
        let mut fields: Vec<FieldOutline> = self
            .root
            .properties
            .iter()
            .map(|(name, node)| FieldOutline {
                name: cut(name),
                types: if node.types.is_empty() { "any".to_owned() } else { words(&node.types) },
                is_required: self.root.required.contains(name),
                description: node
                    .description
                    .as_ref()
                    .map(|text| crate::guest::printable(text, DESCRIPTION_BYTES_MAX)),
            })
            .collect();
        fields.sort_by_key(|field| !field.is_required);
        fields
    }
}

fn words(types: &[Type]) -> String {
    types.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" or ")
}

fn add(found: &mut Vec<Mismatch>, path: &str, problem: String) {
    found.push(Mismatch { path: path.to_owned(), problem });
}

fn check(node: &Node, value: &Value, path: &str, found: &mut Vec<Mismatch>) {
    if found.len() >= FINDINGS_MAX {
        return;
    }
    if !node.types.is_empty() && !node.types.iter().any(|one| is_of(value, *one)) {
        let problem = match value {
            Value::Null => format!("is missing or null, expected {}", words(&node.types)),
            other => format!("expected {}, found {}", words(&node.types), shown(other)),
        };
        // What else is wrong with it follows from that.
        return add(found, path, problem);
    }
    if let Some(values) = &node.values
        && !values.iter().any(|one| is_equal(one, value))
    {
        let names: Vec<String> = values.iter().take(NAMES_MAX).map(shown).collect();
        let more = if values.len() > NAMES_MAX { ", …" } else { "" };
        add(found, path, format!("expected one of {}{more}, found {}", names.join(", "), shown(value)));
    }
    match value {
        Value::Number(number) => check_number(node, number, path, found),
        Value::String(text) => check_text(node, text, path, found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(node) = &node.items {
                    check(node, item, &joined(path, &format!("[{index}]")), found);
                }
            }
        }
        Value::Object(fields) => check_fields(node, fields, path, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_number(node: &Node, number: &Number, path: &str, found: &mut Vec<Mismatch>) {
    if let Some(minimum) = &node.minimum
        && compare(number, minimum) == Some(Ordering::Less)
    {
        add(found, path, format!("must be at least {minimum}, found {number}"));
    }
    if let Some(maximum) = &node.maximum
        && compare(number, maximum) == Some(Ordering::Greater)
    {
        add(found, path, format!("must be at most {maximum}, found {number}"));
    }
}

fn check_text(node: &Node, text: &str, path: &str, found: &mut Vec<Mismatch>) {
    let shown = || cut(&format!("{text:?}"));
    if node.length_min.is_some() || node.length_max.is_some() {
        let length = text.chars().count() as u64;
        let count = |count: u64| format!("{count} character{}", if count == 1 { "" } else { "s" });
        if let Some(min) = node.length_min.filter(|min| length < *min) {
            add(found, path, format!("must have at least {}, found {}", count(min), shown()));
        }
        if let Some(max) = node.length_max.filter(|max| length > *max) {
            add(found, path, format!("must have at most {}, found {length}", count(max)));
        }
    }
    if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        add(found, path, format!("must match {}, found {}", cut(pattern.as_str()), shown()));
    }
}

fn check_fields(node: &Node, fields: &Map<String, Value>, path: &str, found: &mut Vec<Mismatch>) {
    for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
        add(found, path, format!("the field {} is missing", cut(name)));
    }
    for (name, field) in fields {
        if found.len() >= FINDINGS_MAX {
            return;
        }
        let at = || joined(path, &format!(".{}", cut(name)));
        match (node.properties.get(name), &node.others) {
            (Some(node), _) => check(node, field, &at(), found),
            (None, Others::Like(node)) => check(node, field, &at(), found),
            (None, Others::None) => add(found, &at(), unknown(node)),
            (None, Others::Any) => {}
        }
    }
}

fn unknown(node: &Node) -> String {
    let names: Vec<String> = node.properties.keys().take(NAMES_MAX).map(|name| cut(name)).collect();
    let more = if node.properties.len() > NAMES_MAX { ", …" } else { "" };
    if names.is_empty() {
        return "unknown field, expected none".to_owned();
    }
    format!("unknown field, expected {}{more}", names.join(", "))
}

fn is_of(value: &Value, one: Type) -> bool {
    match one {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Number => value.is_number(),
        // As JSON Schema has it, 1.0 is a whole number.
        Type::Integer => value.as_number().is_some_and(|number| {
            integer(number).is_some() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }),
        Type::Boolean => value.is_boolean(),
        Type::Null => value.is_null(),
    }
}

fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Some(Ordering::Equal),
        (one, other) => one == other,
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

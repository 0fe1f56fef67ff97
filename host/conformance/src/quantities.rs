//! The same quantity written otherwise: `500m` is `0.5`, and `1Gi` is `1073741824`.

use std::cmp::Ordering;

use serde_json::Value;
use witlet_core::pod::quantity::{binary, decimal, parse};

/// The longest number that is written: what has more digits is read with rounding.
const WRITTEN_DIGITS_MAX: usize = 18;
/// Fields whose values are lists of resources with their quantities.
const RESOURCE_LISTS: [&str; 6] =
    ["requests", "limits", "overhead", "allocatedResources", "capacity", "allocatable"];
/// Fields that are one quantity, with the field that they stand in.
const SINGLE: [(&str, &str); 2] = [("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor")];

/// Other ways to write exactly this quantity; empty for what is no quantity, or has no other way.
pub(crate) fn notations(text: &str) -> Vec<String> {
    let Ok(amount) = parse(text) else { return Vec::new() };
    let (milli, value) = (amount.milli(), amount.value());
    let (sign, whole, rest) = (if milli < 0 { "-" } else { "" }, (milli / 1000).abs(), (milli % 1000).abs());
    let point = format!("{sign}{whole}.{rest:03}");
    let mut found = vec![point.trim_end_matches('0').trim_end_matches('.').to_owned()];
    if milli != 0 {
        found.extend([format!("{milli}m"), decimal(value), binary(value), format!("{value}e0")]);
    }
    let digits = |other: &str| other.bytes().filter(u8::is_ascii_digit).count();
    // What is rounded to a whole number, or saturates, is another one.
    let is_same = |other: &str| parse(other).is_ok_and(|other| amount.compare(&other) == Ordering::Equal);
    found.retain(|other| other != text && digits(other) <= WRITTEN_DIGITS_MAX && is_same(other));
    found.sort_by_key(|other| (other.len(), other.clone()));
    found.dedup();
    found
}

/// A pod or a node, with the quantities of its spec and its status written in the way number `way`, as far as they have so
/// many. None if that changes nothing. Texts of the metadata are no quantities.
pub(crate) fn rewritten(object: &Value, way: usize) -> Option<Value> {
    let (mut other, mut changed) = (object.clone(), false);
    for part in ["spec", "status"] {
        if let Some(part) = other.get_mut(part) {
            walk(part, way, &mut changed);
        }
    }
    changed.then_some(other)
}

fn walk(value: &mut Value, way: usize, changed: &mut bool) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if RESOURCE_LISTS.contains(&name.as_str())
                    && let Value::Object(list) = field
                {
                    list.values_mut().for_each(|quantity| rewrite(quantity, way, changed));
                    continue;
                }
                for (_, single) in SINGLE.iter().filter(|(holder, _)| *holder == name.as_str()) {
                    if let Some(quantity) = field.get_mut(*single) {
                        rewrite(quantity, way, changed);
                    }
                }
                walk(field, way, changed);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, way, changed)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rewrite(quantity: &mut Value, way: usize, changed: &mut bool) {
    let Some(others) = quantity.as_str().map(notations).filter(|others| !others.is_empty()) else { return };
    *quantity = Value::String(others[way % others.len()].clone());
    *changed = true;
}

#[cfg(test)]
mod tests;

//! The same quantity written otherwise: `500m` is `0.5`, and `1Gi` is `1073741824`.

use serde_json::{Map, Value};

/// The longest number that is rewritten, in digits: more than any quantity that counts.
const DIGITS_MAX: usize = 30;
/// The longest number that is written: what has more digits is read with rounding.
const WRITTEN_DIGITS_MAX: usize = 18;
/// A base unit in billionths, the smallest unit that a quantity can have.
const BASE: i128 = 1_000_000_000;
/// Suffixes and what they stand for, in billionths.
const SUFFIXES: [(&str, i128); 15] = [
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("", BASE),
    ("k", 1_000 * BASE),
    ("M", 1_000_000 * BASE),
    ("G", 1_000_000_000 * BASE),
    ("T", 1_000_000_000_000 * BASE),
    ("P", 1_000_000_000_000_000 * BASE),
    ("Ki", (1 << 10) * BASE),
    ("Mi", (1 << 20) * BASE),
    ("Gi", (1 << 30) * BASE),
    ("Ti", (1 << 40) * BASE),
    ("Pi", (1 << 50) * BASE),
    ("Ei", (1 << 60) * BASE),
];
/// Fields whose values are lists of resources with their quantities.
const RESOURCE_LISTS: [&str; 5] = ["requests", "limits", "overhead", "allocatedResources", "capacity"];
/// Fields that are one quantity, with the field that they stand in.
const SINGLE: [(&str, &str); 2] = [("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor")];

/// Other ways to write exactly this quantity; empty for what is no quantity, or has no other way.
pub(crate) fn notations(text: &str) -> Vec<String> {
    let Some(billionths) = billionths(text) else { return Vec::new() };
    let mut found: Vec<String> = SUFFIXES
        .iter()
        .filter(|(_, unit)| billionths % unit == 0 && (billionths != 0 || *unit == BASE))
        .map(|(suffix, unit)| format!("{}{suffix}", billionths / unit))
        .collect();
    found.push(decimal(billionths));
    if billionths % BASE == 0 && billionths != 0 {
        found.push(format!("{}e0", billionths / BASE));
    }
    let digits = |other: &str| other.bytes().filter(u8::is_ascii_digit).count();
    found.retain(|other| other != text && digits(other) <= WRITTEN_DIGITS_MAX);
    found.sort_by_key(|other| (other.len(), other.clone()));
    found.dedup();
    found
}

/// The quantity in billionths, if it is a whole number of them.
fn billionths(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end =
        unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > DIGITS_MAX || fraction.contains('.') {
        return None;
    }
    let unit = SUFFIXES.iter().find(|(known, _)| *known == suffix)?.1;
    let scaled = digits.parse::<i128>().ok()?.checked_mul(unit)?;
    let places = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let exact = scaled % places == 0;
    exact.then_some(if negative { -(scaled / places) } else { scaled / places })
}

/// With a point where it has a fraction.
fn decimal(billionths: i128) -> String {
    let sign = if billionths < 0 { "-" } else { "" };
    let (whole, rest) = (billionths.abs() / BASE, billionths.abs() % BASE);
    let fraction = format!("{rest:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// A pod or a node, with the quantities of its spec and its status written in the way number `way`, as far as they have so
/// many. None if that changes nothing. Texts of the metadata are nobody's quantities.
pub(crate) fn rewritten(object: &Value, way: usize) -> Option<Value> {
    let mut other = object.clone();
    let parts = ["spec", "status"]
        .into_iter()
        .filter_map(|part| other.get_mut(part).map(std::mem::take).map(|v| (part, v)));
    let parts: Vec<(&str, Value)> = parts.collect();
    let mut changed = false;
    for (part, mut value) in parts {
        walk(&mut value, way, &mut changed);
        other[part] = value;
    }
    changed.then_some(other)
}

fn walk(value: &mut Value, way: usize, changed: &mut bool) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field {
                    Value::Object(list)
                        if RESOURCE_LISTS.contains(&name.as_str()) || name == "allocatable" =>
                    {
                        list.values_mut().for_each(|quantity| rewrite(quantity, way, changed));
                    }
                    Value::Object(inner) => {
                        single(name, inner, way, changed);
                        walk(field, way, changed);
                    }
                    other => walk(other, way, changed),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, way, changed)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn single(name: &str, fields: &mut Map<String, Value>, way: usize, changed: &mut bool) {
    for (_, field) in SINGLE.iter().filter(|(holder, _)| *holder == name) {
        if let Some(quantity) = fields.get_mut(*field) {
            rewrite(quantity, way, changed);
        }
    }
}

fn rewrite(quantity: &mut Value, way: usize, changed: &mut bool) {
    let Some(others) = quantity.as_str().map(notations).filter(|others| !others.is_empty()) else { return };
    *quantity = Value::String(others[way % others.len()].clone());
    *changed = true;
}

#[cfg(test)]
mod tests;

//! What a value should be.

use std::cmp::Ordering;

use serde_json::{Number, Value};
use witlet_plugin_sdk::Error;

use crate::Parameters;

/// So much of a value is shown.
const SHOWN_CHARS_MAX: usize = 200;

/// Refuses expectations that say nothing or contradict each other.
pub(crate) fn check(parameters: &Parameters) -> Result<(), Error> {
    let Parameters { pointer, equals, one_of, min, max, .. } = parameters;
    let bounds = min.is_some() || max.is_some();
    let said = [equals.is_some(), one_of.is_some(), bounds].into_iter().filter(|said| *said).count();
    match (pointer, said) {
        (None, 0) => Ok(()),
        (None, _) => Err(Error::invalid("pointer", "Required value: a JSON pointer such as /status")),
        (Some(_), 0) => Err(Error::invalid("pointer", "must have one of equals, oneOf, min or max")),
        (Some(pointer), 1) => {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(Error::invalid(
                    "pointer",
                    format!("{pointer:?} is neither empty nor begins with /"),
                ));
            }
            if one_of.as_ref().is_some_and(Vec::is_empty) {
                return Err(Error::invalid("oneOf", "must not be empty"));
            }
            match (min, max) {
                (Some(min), Some(max)) if compare(min, max) == Some(Ordering::Greater) => {
                    Err(Error::invalid("min", format!("{min} is more than max, {max}")))
                }
                _ => Ok(()),
            }
        }
        (Some(_), _) => Err(Error::invalid("equals", "only one of equals, oneOf and min/max may be there")),
    }
}

/// The value that is as it should be, as text; an error is why it isn't. Without a pointer any JSON is good.
pub(crate) fn judge(parameters: &Parameters, answer: &Value) -> Result<String, String> {
    let Some(pointer) = &parameters.pointer else { return Ok(String::new()) };
    let value = answer.pointer(pointer).ok_or_else(|| format!("the answer has no {pointer}"))?;
    let is = |expected: String| format!("{pointer} is {}, not {expected}", shown(value));
    if let Some(expected) = &parameters.equals
        && !same(value, expected)
    {
        return Err(is(shown(expected)));
    }
    if let Some(expected) = &parameters.one_of
        && !expected.iter().any(|expected| same(value, expected))
    {
        let expected: Vec<String> = expected.iter().map(shown).collect();
        return Err(is(format!("one of {}", expected.join(", "))));
    }
    for (bound, wrong, word) in
        [(&parameters.min, Ordering::Less, "at least"), (&parameters.max, Ordering::Greater, "at most")]
    {
        let Some(bound) = bound else { continue };
        let Value::Number(number) = value else { return Err(is("a number".to_owned())) };
        if compare(number, bound).is_none_or(|order| order == wrong) {
            return Err(is(format!("{word} {bound}")));
        }
    }
    Ok(format!("{pointer} is {}", shown(value)))
}

/// Whether two values are the same; numbers are by what they count, so that `1` is `1.0`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// Whole numbers exactly, others as they are computed with.
fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests;

//! `$NAME`, `${NAME}` and its forms with defaults, in every text of a file (the compose specification, "Interpolation").
//!
//! A variable that isn't set and has no default is an error, where compose would warn and write nothing.

use std::collections::BTreeMap;

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Bytes that a text may become.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// How deep defaults may lie in each other.
const DEPTH_MAX: usize = 8;

/// Replaces variables in all values below; keys stay as they are.
pub(crate) fn value(value: &mut Value, variables: &BTreeMap<String, String>) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains('$') => {
            *text = self::text(text, variables, 0)?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| self::value(item, variables)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| self::value(field, variables)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn text(text: &str, variables: &BTreeMap<String, String>, depth: usize) -> Result<String, String> {
    if depth > DEPTH_MAX {
        return Err(format!("variables lie more than {DEPTH_MAX} deep in each other"));
    }
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        done.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(more) = after.strip_prefix('$') {
            done.push('$');
            rest = more;
        } else if let Some(braced) = after.strip_prefix('{') {
            let end = closing(braced).ok_or_else(|| format!("{text:?} has a `${{` without its `}}`"))?;
            done.push_str(&expression(&braced[..end], variables, depth)?);
            rest = &braced[end + 1..];
        } else {
            let length = name_length(after);
            if length == 0 {
                return Err(format!(
                    "{text:?} has a `$` that begins no variable; write `$$` for a dollar sign"
                ));
            }
            let name = &after[..length];
            done.push_str(variables.get(name).ok_or_else(|| unset(name))?);
            rest = &after[length..];
        }
        if done.len() > TEXT_BYTES_MAX {
            return Err(format!("a text becomes longer than {TEXT_BYTES_MAX} bytes"));
        }
    }
    done.push_str(rest);
    Ok(done)
}

fn unset(name: &str) -> String {
    format!("the variable {name} isn't set")
}

/// Where the brace that was opened before the text closes.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match char {
            '{' if before == '$' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
        before = char;
    }
    None
}

fn name_length(text: &str) -> usize {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    if !text.bytes().next().is_some_and(is_first) {
        return 0;
    }
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

fn expression(inner: &str, variables: &BTreeMap<String, String>, depth: usize) -> Result<String, String> {
    let (name, operation) = inner.split_at(name_length(inner));
    if name.is_empty() {
        return Err(format!("${{{inner}}} names no variable"));
    }
    let set = variables.get(name);
    let (filled, operation) = match operation.strip_prefix(':') {
        // With a colon an empty value counts as none.
        Some(operation) => (set.filter(|value| !value.is_empty()), operation),
        None => (set, operation),
    };
    let other = || operation.get(1..).unwrap_or_default();
    match operation.chars().next() {
        None if inner == name => set.cloned().ok_or_else(|| unset(name)),
        Some('-') => filled.cloned().map_or_else(|| text(other(), variables, depth + 1), Ok),
        Some('?') => {
            let message = if other().is_empty() { unset(name) } else { format!("{name}: {}", other()) };
            filled.cloned().ok_or(message)
        }
        Some('+') if filled.is_some() => text(other(), variables, depth + 1),
        Some('+') => Ok(String::new()),
        None | Some(_) => Err(format!("${{{inner}}} isn't a form that compose knows")),
    }
}

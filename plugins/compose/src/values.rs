//! The small languages of compose files: durations, sizes, words of a shell, lists that may be maps.

use std::collections::BTreeMap;

use serde_json::Value;

#[cfg(test)]
mod tests;

/// A plain value as text.
pub(crate) fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err("must be a plain value".to_owned()),
    }
}

/// `true` or `false`, also as a text, which variables become.
pub(crate) fn flag(value: &Value) -> Result<bool, String> {
    match plain(value)?.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(format!("{other:?} must be true or false")),
    }
}

/// A whole number from 0.
pub(crate) fn number(value: &Value) -> Result<i64, String> {
    let text = plain(value)?;
    text.parse().ok().filter(|number| *number >= 0).ok_or_else(|| format!("{text:?} must be a whole number"))
}

/// A list of plain values, or one of them alone.
pub(crate) fn list(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Null => Ok(Vec::new()),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(vec![plain(value)?]),
        Value::Object(_) => Err("must be a list".to_owned()),
    }
}

/// A map, or a list of `key=value`. A key alone has no value.
pub(crate) fn map(value: &Value) -> Result<BTreeMap<String, Option<String>>, String> {
    match value {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| Ok((key.clone(), if value.is_null() { None } else { Some(plain(value)?) })))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| {
                let item = plain(item)?;
                Ok(match item.split_once('=') {
                    Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                    None => (item, None),
                })
            })
            .collect(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Err("must be a map or a list".to_owned()),
    }
}

/// A list as it is, or a text split as a shell would: white space, quotes and backslashes, nothing else.
pub(crate) fn command(value: &Value) -> Result<Vec<String>, String> {
    let words = match value {
        Value::String(text) => words(text)?,
        Value::Array(items) => items.iter().map(plain).collect::<Result<_, _>>()?,
        Value::Null | Value::Object(_) | Value::Number(_) | Value::Bool(_) => {
            return Err("must be a text or a list".to_owned());
        }
    };
    if words.is_empty() {
        Err("must not be empty: a pod can't run an image without it".to_owned())
    } else {
        Ok(words)
    }
}

fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), char) if char == open => quote = None,
            (Some('\''), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (_, '\\') => {
                let escaped = chars.next().ok_or("ends in a backslash")?;
                let word = word.get_or_insert_default();
                if quote.is_some() && !['"', '\\', '$', '`'].contains(&escaped) {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    if quote.is_some() {
        return Err("has a quote that isn't closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// Seconds, rounded up, of a text such as `1m30s` or `500ms`.
pub(crate) fn seconds(value: &Value) -> Result<i64, String> {
    let text = plain(value)?;
    let wrong = || format!("{text:?} must be a duration such as 1m30s");
    let mut microseconds = 0_u64;
    let mut rest = text.as_str();
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (count, more) = rest.split_at(digits);
        let unit = more.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, more) = more.split_at(unit);
        let factor = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            _ => return Err(wrong()),
        };
        let count: u64 = count.parse().map_err(|_| wrong())?;
        let part = count.checked_mul(factor).ok_or_else(wrong)?;
        microseconds = microseconds.checked_add(part).ok_or_else(wrong)?;
        rest = more;
    }
    i64::try_from(microseconds.div_ceil(1_000_000)).map_err(|_| wrong())
}

/// A quantity of bytes of a text such as `64m` (1024-based, as compose has it).
pub(crate) fn bytes(value: &Value) -> Result<String, String> {
    let text = plain(value)?;
    let lower = text.to_ascii_lowercase();
    let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = lower.split_at(digits);
    let suffix = match unit {
        "" | "b" => "",
        "k" | "kb" => "Ki",
        "m" | "mb" => "Mi",
        "g" | "gb" => "Gi",
        _ => return Err(format!("{text:?} must be a size such as 64m")),
    };
    if count.is_empty() {
        return Err(format!("{text:?} must be a size such as 64m"));
    }
    Ok(format!("{count}{suffix}"))
}

/// A quantity of CPUs of a number such as `0.5`.
pub(crate) fn cpus(value: &Value) -> Result<String, String> {
    let text = plain(value)?;
    let count: f64 = text.parse().map_err(|_| format!("{text:?} must be a number of CPUs"))?;
    let milli = (count * 1000.0).round();
    if !(1.0..=1e9).contains(&milli) {
        return Err(format!("{text:?} must be at least 0.001 CPUs"));
    }
    Ok(format!("{milli}m"))
}

/// Whether the text is an RFC 1123 label, which names of pods are made of here.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
        && bytes.first().is_some_and(|byte| inner(*byte))
        && bytes.last().is_some_and(|byte| inner(*byte))
}

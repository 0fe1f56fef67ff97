//! Keeps values of secrets out of what is written.

use std::sync::Arc;

use serde_json::Value;

/// Shorter values are found everywhere by chance; no one protects anything with them.
const SECRET_BYTES_MIN: usize = 4;

/// Replaces each occurrence of a secret's value in the texts of a document by its name. Checks keys of objects too.
pub(super) fn scrub(value: &mut Value, secrets: &[(String, Arc<[u8]>)]) {
    let mut known: Vec<(&str, String)> = Vec::new();
    for (name, bytes) in secrets {
        // The end of the line isn't a part of what people keep in files.
        let Some(text) = std::str::from_utf8(bytes).ok().map(str::trim) else { continue };
        if text.len() >= SECRET_BYTES_MIN {
            // As it stands in JSON that is a text itself, such as parameters.
            let quoted = Value::from(text).to_string();
            known.push((name, quoted.trim_matches('"').to_owned()));
            known.push((name, text.to_owned()));
        }
    }
    // The longest first, because one may be a part of another.
    known.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    if !known.is_empty() {
        walk(value, &known);
    }
}

fn walk(value: &mut Value, known: &[(&str, String)]) {
    match value {
        Value::String(text) => *text = clean(text, known),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, known)),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, mut item)| {
                    walk(&mut item, known);
                    (clean(&key, known), item)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn clean(text: &str, known: &[(&str, String)]) -> String {
    known.iter().fold(text.to_owned(), |text, (name, secret)| {
        if text.contains(secret.as_str()) {
            text.replace(secret.as_str(), &format!("[secret {name}]"))
        } else {
            text
        }
    })
}

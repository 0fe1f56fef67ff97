//! Volumes of a pod: their kinds with their fields.

use k8s_openapi::api::core::v1::Volume;
use serde_json::{Map, Value};

use super::sections::string;
use super::text::{NONE, Text};

#[cfg(test)]
mod tests;

/// Writes all volumes.
pub(super) fn volumes(text: &mut Text, volumes: &[Volume]) {
    if volumes.is_empty() {
        return text.field(0, "Volumes", NONE);
    }
    text.heading(0, "Volumes");
    for volume in volumes {
        text.heading(1, &volume.name);
        // A volume has no value without a JSON form.
        let form = serde_json::to_value(volume).unwrap_or_default();
        let source = form.as_object().and_then(|form| form.iter().find(|(key, _)| *key != "name"));
        match source {
            None => text.field(2, "Type", NONE),
            Some((kind, fields)) => {
                text.field(2, "Type", capital(kind));
                fields
                    .as_object()
                    .into_iter()
                    .flatten()
                    .for_each(|(key, value)| field(text, kind, key, value));
            }
        }
    }
}

/// A field of a volume; `type` isn't that of the volume. What has parts is shown as JSON.
fn field(text: &mut Text, kind: &str, key: &str, value: &Value) {
    let key = if key == "type" { format!("{}Type", capital(kind)) } else { capital(key) };
    match value {
        Value::Array(parts) => text.list(2, &key, parts.iter().map(compact)),
        other => text.field(2, &key, compact(other)),
    }
}

fn compact(value: &Value) -> String {
    match value {
        Value::Object(map) => Value::Object(Map::clone(map)).to_string(),
        other => string(other),
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

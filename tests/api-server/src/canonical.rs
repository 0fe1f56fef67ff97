//! The form in which an object is kept and shown: fields of its type only, nothing empty, canonical quantities.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::quantity;
use crate::resources::Resource;
use crate::value::as_map;

/// Maps of quantities.
const QUANTITIES: [&str; 8] =
    ["limits", "requests", "capacity", "allocatable", "allocatedResources", "overhead", "podFixed", "hard"];

/// Maps that vanish when they are empty; other empty objects say something (`emptyDir: {}`).
const MAPS: [&str; 10] = [
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "nodeSelector",
    "limits",
    "requests",
    "allocatedResources",
    "extra",
];

/// Texts that vanish when they are empty.
const TEXTS: [&str; 14] = [
    "message",
    "reason",
    "podIP",
    "hostIP",
    "containerID",
    "nominatedNodeName",
    "nodeName",
    "hostname",
    "subdomain",
    "generateName",
    "resourceVersion",
    "namespace",
    "phase",
    "fieldPath",
];

/// The object in its kept form; 400 if it isn't one of this resource.
pub(crate) fn decode(resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
    for (field, expected) in [("apiVersion", resource.api_version()), ("kind", resource.kind.to_owned())] {
        let given = object.get(field).and_then(Value::as_str).unwrap_or_default();
        if !given.is_empty() && given != expected {
            let message = format!(
                "the object provided is unrecognized: {field} in the data ({given}) does not match the expected \
                 {field} ({expected})"
            );
            return Err(ApiError::bad_request(message));
        }
        if object.is_object() {
            as_map(&mut object).insert(field.to_owned(), expected.into());
        }
    }
    let mut object = (resource.decode)(object).map_err(|cause| {
        let message = format!(
            "{} in version \"{}\" cannot be handled as a {}: {cause}",
            resource.kind, resource.version, resource.kind
        );
        ApiError::bad_request(message)
    })?;
    tidy(&mut object);
    Ok(object)
}

/// Takes away what is empty.
pub(crate) fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => tidy_map(map),
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn tidy_map(map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        if QUANTITIES.contains(&key.as_str()) {
            canonical_quantities(value);
        } else if matches!(key.as_str(), "sizeLimit" | "divisor") {
            quantity::canonicalize(value);
        } else if key != "data" {
            tidy(value);
        }
    }
    map.retain(|key, value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(inner) => !(inner.is_empty() && MAPS.contains(&key.as_str())),
        Value::String(text) => !(text.is_empty() && TEXTS.contains(&key.as_str())),
        _ => true,
    });
}

fn canonical_quantities(value: &mut Value) {
    if let Value::Object(map) = value {
        for (key, value) in map.iter_mut() {
            // `overhead: { podFixed: { cpu: … } }`
            if key == "podFixed" { canonical_quantities(value) } else { quantity::canonicalize(value) }
        }
    }
}

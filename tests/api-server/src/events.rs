//! Events are kept as those of the core group; `events.k8s.io` shows the same objects in its own words.

use serde_json::{Map, Value, json};

use crate::resources::Resource;

/// Field of the core group and of `events.k8s.io`.
const FIELDS: [(&str, &str); 6] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];
/// Like those, with another name for the controller.
const CONTROLLER: (&str, &str) = ("reportingComponent", "reportingController");

/// Whether this is the newer form.
pub(crate) fn is_new(resource: &Resource) -> bool {
    resource.group == "events.k8s.io"
}

/// A kept object as this resource shows it.
pub(crate) fn shown(resource: &Resource, object: &Value) -> Value {
    if !is_new(resource) {
        return object.clone();
    }
    let mut shown = renamed(object, |(core, new)| (core, new));
    shown["apiVersion"] = json!("events.k8s.io/v1");
    shown
}

/// What was given to this resource, as it is kept.
pub(crate) fn kept(resource: &Resource, object: Value) -> Value {
    if !is_new(resource) {
        return object;
    }
    let mut kept = renamed(&object, |(core, new)| (new, core));
    kept["apiVersion"] = json!("v1");
    kept
}

fn renamed(
    object: &Value,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let mut made = Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        let pairs = FIELDS.iter().chain([&CONTROLLER]).map(|pair| direction(*pair));
        let name = pairs.into_iter().find(|(from, _)| from == key).map_or(key.as_str(), |(_, to)| to);
        made.insert(name.to_owned(), value.clone());
    }
    Value::Object(made)
}

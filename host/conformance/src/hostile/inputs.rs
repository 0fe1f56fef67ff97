//! Texts, values and pods that mean harm wherever they are decoded: as far as a host hands them on, every field that may be missing is
//! missing somewhere, and every text and number is as odd as its type allows.

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::generated::put;
use crate::plugin_request::{plain_pod, pod};

/// How deep JSON nests that no reader should follow: deeper than a guest's stack allows.
const DEPTH: usize = 100_000;
/// How deep values nest that a host can hand on (serde_json reads 127 levels).
const NESTED: usize = 120;
/// How long a text is that is too long.
const LONG: usize = 64 << 10;
/// How many fields an object has that has too many.
const FIELDS: usize = 10_000;

pub(super) fn deep_json() -> String {
    ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat()
}

/// Values that aren't what a plugin expects, by what they are.
pub(super) fn values() -> Vec<(&'static str, Value)> {
    vec![
        ("null", Value::Null),
        ("true", json!(true)),
        ("an empty array", json!([])),
        ("an array", json!([1, "x", null])),
        ("text", json!("x")),
        ("empty text", json!("")),
        ("zero", json!(0)),
        ("a negative number", json!(-1)),
        ("the largest number of 64 bits", json!(u64::MAX)),
        ("a number beyond 64 bits", json!(1.844_674_407_370_955_2e19)),
        ("the largest number there is", json!(f64::MAX)),
        ("a number that is hardly one", json!(-0.0)),
        ("an empty object", json!({})),
        ("an object with an empty key", json!({"": ""})),
        ("an unknown field", json!({"unknownField": {"a": [1, 2, 3]}})),
        ("long text", json!("x".repeat(LONG))),
        ("text of deeply nested JSON", deep_json().into()),
        ("an object of very many fields", many_fields()),
        ("nesting as deep as JSON is read", nested()),
    ]
}

/// Arrays in arrays, as deep as the host's own reader goes.
fn nested() -> Value {
    (0..NESTED).fold(Value::Null, |inner, _| json!([inner]))
}

fn many_fields() -> Value {
    (0..FIELDS).map(|number| (format!("field-{number}"), Value::from(number))).collect::<Map<_, _>>().into()
}

/// A value with each of its fields taken away, or replaced by what it isn't, one at a time, and with a field more. Nothing for
/// what is no object.
pub(super) fn changed(value: &Value) -> Vec<(String, Value)> {
    let Value::Object(fields) = value else { return Vec::new() };
    let mut all = Vec::new();
    for name in fields.keys() {
        let mut without = fields.clone();
        without.remove(name);
        all.push((format!("without {name:?}"), without.into()));
        for other in others() {
            if other != fields[name] {
                let mut changed = fields.clone();
                let reported =
                    if other.to_string().len() > 40 { "long text".to_owned() } else { other.to_string() };
                changed.insert(name.clone(), other);
                all.push((format!("with {reported} as {name:?}"), changed.into()));
            }
        }
    }
    let mut more = fields.clone();
    more.insert("unknownField".to_owned(), json!({"a": [1, 2, 3]}));
    all.push(("with a field more".to_owned(), more.into()));
    all
}

fn others() -> [Value; 11] {
    [
        Value::Null,
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!("🦀"),
        json!(-1),
        json!(u64::MAX),
        json!(0.5),
        json!("x".repeat(LONG)),
        deep_json().into(),
    ]
}

/// What is missing or odd in a plain pod, by what that is.
const PODS: &str = include_str!("../../vectors/hostile/pods.yaml");
/// In [`PODS`]: each of several values.
const VALUE: &str = "${VALUE}";
/// Bytes of the annotations of a pod that is as large as the API server takes (256 KiB), four times.
const ANNOTATIONS_BYTES: usize = 1 << 20;
/// How many labels a pod has that has too many.
const LABELS: usize = 10_000;
/// How many containers a pod has that has too many.
const CONTAINERS: usize = 500;

/// [`PODS`]: words for people, with values by JSON pointers; null takes away.
#[derive(Default, Deserialize)]
struct Changes {
    single: Vec<(String, Map<String, Value>)>,
    each: Vec<Each>,
}

#[derive(Deserialize)]
struct Each {
    put: Value,
    values: Vec<(String, Value)>,
}

/// Pods, by what is wrong with them.
pub(super) fn pods() -> Vec<(String, Pod)> {
    let changed = |(name, changes): (String, Map<String, Value>)| {
        let mut json = serde_json::to_value(plain_pod()).unwrap_or_default();
        changes.into_iter().for_each(|(pointer, value)| put(&mut json, &pointer, value));
        (name, pod(&json))
    };
    // It has these fields: a test reads it.
    let Changes { single, each } = serde_saphyr::from_str(PODS).unwrap_or_default();
    let each = each.into_iter().flat_map(|Each { put, values }| {
        values.into_iter().filter_map(move |(name, value)| match filled(&put, &value) {
            Value::Object(changes) => Some((name, changes)),
            _ => None,
        })
    });
    // What takes long comes last: other findings say more.
    let too_much = too_much()
        .into_iter()
        .map(|(name, pointer, value)| (name.to_owned(), Map::from_iter([(pointer.to_owned(), value)])));
    single.into_iter().chain(each).chain(too_much).map(changed).collect()
}

/// Returns the template with a value in place of [`VALUE`], also in names of fields if it is a text.
fn filled(template: &Value, value: &Value) -> Value {
    match template {
        Value::String(text) if text == VALUE => value.clone(),
        Value::Array(items) => items.iter().map(|item| filled(item, value)).collect(),
        Value::Object(fields) => {
            let name = |name: &String| name.replace(VALUE, value.as_str().unwrap_or(VALUE));
            fields.iter().map(|(key, field)| (name(key), filled(field, value))).collect()
        }
        other => other.clone(),
    }
}

fn too_much() -> [(&'static str, &'static str, Value); 4] {
    let text = |text: String| json!({"example.com/text": text});
    let labels: Map<String, Value> =
        (0..LABELS).map(|number| (format!("label-{number}"), format!("value-{number}").into())).collect();
    let container = |number| json!({"name": format!("app-{number}"), "image": format!("registry.example.com/app:{number}")});
    let containers: Value = (0..CONTAINERS).map(container).collect();
    [
        ("1 MiB of annotations", "/metadata/annotations", text("x".repeat(ANNOTATIONS_BYTES))),
        ("an annotation of deeply nested JSON", "/metadata/annotations", text(deep_json())),
        ("10,000 labels", "/metadata/labels", labels.into()),
        ("500 containers", "/spec/containers", containers),
    ]
}

#[cfg(test)]
mod tests;

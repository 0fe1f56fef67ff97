//! Texts, values and pods that mean harm wherever they are decoded: as far as a host hands them on, every field that may be missing is
//! missing somewhere, and every text and number is as odd as its type allows.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use crate::generated::put;
use crate::question::{plain_pod, pod};

/// How deep JSON nests that nobody should follow: deeper than any stack of a guest is high.
const DEPTH: usize = 100_000;
/// How deep values nest that a host can hand on (serde_json reads 127 levels).
const NESTED: usize = 120;
/// How long a text is that is too long.
const LONG: usize = 64 << 10;
/// How many fields an object has that has too many.
const FIELDS: usize = 10_000;

/// Names and texts that programs stumble over.
pub(super) const ODD: [(&str, &str); 9] = [
    ("letters of four bytes", "🦀🦀🦀🦀🦀🦀🦀🦀"),
    // No even number of bytes ends at a letter's border.
    (
        "letters of four bytes behind one",
        "x🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀",
    ),
    ("letters of two and three bytes", "aäöü€€€€€€€€€€"),
    ("letters that join", "e\u{301}e\u{301}e\u{301}\u{200d}\u{200d}"),
    ("letters that turn the direction", "\u{202e}txet\u{202c}"),
    ("control characters", "\u{0}\u{1}\u{1b}[2J\r\n\t"),
    ("letters that change their length with their case", "İIßſK"),
    ("the last letters there are", "\u{10ffff}\u{fffd}\u{feff}"),
    ("words of templates and shells", "${HOME} $(id) {{ .Values }} '; --"),
];

/// Arrays in arrays.
pub(super) fn deep_json() -> String {
    ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat()
}

/// Values that aren't what anybody expects, by what they are.
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
        ("an unknown field", json!({"nobodyKnowsThis": {"a": [1, 2, 3]}})),
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
                let told =
                    if other.to_string().len() > 40 { "long text".to_owned() } else { other.to_string() };
                changed.insert(name.clone(), other);
                all.push((format!("with {told} as {name:?}"), changed.into()));
            }
        }
    }
    let mut more = fields.clone();
    more.insert("nobodyKnowsThis".to_owned(), json!({"a": [1, 2, 3]}));
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
/// Bytes of the annotations of a pod that is as large as the API server takes (256 KiB), four times.
const ANNOTATIONS_BYTES: usize = 1 << 20;
/// How many labels a pod has that has too many.
const LABELS: usize = 10_000;
/// How many containers a pod has that has too many.
const CONTAINERS: usize = 500;
/// For ports and other numbers of 32 bits.
const NUMBERS: [(&str, i32); 5] = [
    ("numbers that are 0", 0),
    ("numbers that are -1", -1),
    ("numbers of 17 bits", 65_536),
    ("numbers that are as large as can be", i32::MAX),
    ("numbers that are as small as can be", i32::MIN),
];
const QUANTITIES: [(&str, &str); 8] = [
    ("quantities that are negative", "-1"),
    ("quantities beyond 64 bits", "99999999999999999999"),
    ("quantities with the largest suffix", "9223372036854775807Ei"),
    ("quantities of an exponent", "1e30"),
    ("quantities that are tiny", "1n"),
    ("quantities that are empty", ""),
    ("quantities that are none", "a lot"),
    ("quantities that are zero", "0"),
];

/// Pods, by what is wrong with them.
pub(super) fn pods() -> Vec<(String, Pod)> {
    // A plain pod, with this put where the pointers lead; null takes away.
    let changed = |(name, changes): (String, Value)| {
        let mut json = serde_json::to_value(plain_pod()).unwrap_or_default();
        for (pointer, value) in changes.as_object().into_iter().flatten() {
            put(&mut json, pointer, value.clone());
        }
        (name, pod(&json))
    };
    // They are pairs: a test reads them.
    let without: Vec<(String, Value)> = serde_saphyr::from_str(PODS).unwrap_or_default();
    let texts = ODD.map(|(name, text)| (name, with_text(text)));
    let numbers = NUMBERS.map(|(name, number)| (name, with_number(number)));
    let quantities = QUANTITIES.map(|(name, quantity)| {
        let requests = json!({"cpu": quantity, "memory": quantity, "example.com/device": quantity});
        let limits = json!({"cpu": quantity, "memory": quantity});
        (name, json!({"/spec/containers/0/resources": {"requests": requests, "limits": limits}}))
    });
    // What takes long comes last: other findings say more.
    let others = texts.into_iter().chain(numbers).chain(quantities).chain(too_much());
    let others = others.map(|(name, changes)| (name.to_owned(), changes));
    without.into_iter().chain(others).map(changed).collect()
}

fn too_much() -> [(&'static str, Value); 4] {
    let annotated = |text: String| json!({"/metadata/annotations": {"example.com/text": text}});
    let labels: Map<String, Value> =
        (0..LABELS).map(|number| (format!("label-{number}"), format!("value-{number}").into())).collect();
    let container = |number| json!({"name": format!("app-{number}"), "image": format!("registry.example.com/app:{number}")});
    [
        ("1 MiB of annotations", annotated("x".repeat(ANNOTATIONS_BYTES))),
        ("an annotation of deeply nested JSON", annotated(deep_json())),
        ("10,000 labels", json!({"/metadata/labels": labels})),
        ("500 containers", json!({"/spec/containers": (0..CONTAINERS).map(container).collect::<Vec<_>>()})),
    ]
}

/// This text wherever a pod has one that is free.
fn with_text(text: &str) -> Value {
    json!({
        "/metadata/labels": {"app": text, text: "value"},
        "/metadata/annotations": {"note": text, text: "value"},
        "/metadata/name": text,
        "/spec/containers/0/image": text,
        "/spec/containers/0/name": text,
        "/spec/containers/0/env": [{"name": "TEXT", "value": text}],
    })
}

fn with_number(number: i32) -> Value {
    json!({
        "/spec/priority": number,
        "/spec/terminationGracePeriodSeconds": number,
        "/spec/activeDeadlineSeconds": number,
        "/spec/containers/0/ports": [{"containerPort": number, "hostPort": number}],
        "/spec/containers/0/securityContext": {"runAsUser": number},
    })
}

#[cfg(test)]
mod tests;

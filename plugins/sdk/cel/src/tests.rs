//! Tables of the language, of its library, of mistakes and of limits.

mod language;
mod libraries;
mod limits;
mod mistakes;
mod upstream;

use crate::{Budget, Failure, Limits, Program, Value, Variables, text};

/// Variables that tests refer to, as JSON.
const OBJECT: &str = r#"{
    "metadata": {"name": "web", "labels": {"app": "web", "app.kubernetes.io/name": "w"}, "namespace": "shop"},
    "spec": {
        "hostNetwork": true,
        "containers": [
            {"name": "app", "image": "nginx:1", "ports": [{"containerPort": 80}]},
            {"name": "log", "image": "r.example/log@sha256:1", "env": []}
        ],
        "priority": 7, "ratio": 0.5, "big": 18446744073709551615, "nothing": null
    }
}"#;

/// `object`, and no other variable.
pub(super) struct Object;

impl Variables for Object {
    fn get(&self, name: &str, _: &Budget) -> Option<Result<Value, Failure>> {
        (name == "object").then(|| Ok(serde_json::from_str(OBJECT).expect("an object")))
    }
}

pub(super) fn evaluate(source: &str) -> Result<Value, String> {
    let program = Program::parse(source).map_err(|problem| format!("parse: {problem}"))?;
    program.evaluate(&Object, &Budget::new(Limits::DEFAULT)).map_err(|failure| failure.message)
}

/// A value as people read it, or the message of the error.
pub(super) fn shown(source: &str) -> String {
    match evaluate(source) {
        Ok(value) => show(&value),
        Err(message) => format!("error: {message}"),
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::UInt(number) => format!("{number}u"),
        Value::Bytes(bytes) => format!("b{:?}", bytes.escape_ascii().to_string()),
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", show(value)),
        Value::Quantity(quantity) => format!("{quantity:?}"),
        Value::Url(_) => "url".to_owned(),
        Value::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entry =
                |(key, value): &(crate::Key, Value)| format!("{}: {}", show(&key.value()), show(value));
            format!("{{{}}}", map.entries().iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => text::string(other).unwrap_or_else(|| other.type_name().to_owned()),
    }
}

/// Each source has the value, or fails with an error that has these words.
pub(super) fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let found = shown(source);
        match expected.strip_prefix("error: ") {
            Some(words) => assert!(
                found.starts_with("error: ") && found.contains(words),
                "{source}\n  {found}\n  {expected}"
            ),
            None => assert_eq!(&found, expected, "{source}"),
        }
    }
}

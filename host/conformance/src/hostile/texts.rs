//! Texts and values that mean harm wherever they are decoded.

use serde_json::{Map, Value, json};

/// How deep JSON nests that nobody should follow: deeper than any stack of a guest is high.
const DEPTH: usize = 100_000;
/// How deep values nest that a host can hand on (serde_json reads 127 levels).
const NESTED: usize = 120;
/// How long a text is that is too long.
const LONG: usize = 64 << 10;
/// How many fields an object has that has too many.
const FIELDS: usize = 10_000;

/// Names and texts that programs stumble over.
pub(crate) const ODD: [(&str, &str); 9] = [
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
pub(crate) fn deep_json() -> String {
    ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat()
}

/// Values that aren't what anybody expects, by what they are.
pub(crate) fn values() -> Vec<(&'static str, Value)> {
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
pub(crate) fn changed(value: &Value) -> Vec<(String, Value)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_can_hand_every_value_on() {
        for (name, value) in values() {
            assert_eq!(serde_json::from_str::<Value>(&value.to_string()).expect(name), value, "{name}");
        }
        assert!(serde_json::from_str::<Value>(&deep_json()).is_err(), "nobody follows it");
    }

    #[test]
    fn each_field_is_changed_on_its_own() {
        let all = changed(&json!({"a": 1, "b": "x"}));
        assert!(all.contains(&("without \"a\"".to_owned(), json!({"b": "x"}))));
        assert!(all.contains(&("with null as \"b\"".to_owned(), json!({"a": 1, "b": null}))));
        assert_eq!(all.len(), 2 * (1 + others().len()) + 1);
        assert!(all.iter().all(|(_, other)| *other != json!({"a": 1, "b": "x"})));
        assert!(changed(&json!([1])).is_empty());
    }
}

//! What a schema may say, and what of a value doesn't fit it.

use serde_json::json;

use super::check::FINDINGS_MAX;
use super::*;

#[track_caller]
fn schema(text: Value) -> Schema {
    Schema::compile(text, "config").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn values_fit_or_are_reported_with_their_paths() {
    let cases: &[(Value, Value, &[&str])] = &[
        (json!({}), json!([1, {"a": null}]), &[]),
        (json!({"type": "object"}), json!({}), &[]),
        (json!({"type": "object"}), Value::Null, &["config: is missing or null, expected object"]),
        (json!({"type": ["object", "null"]}), Value::Null, &[]),
        (json!({"type": ["string", "null"]}), json!(7), &["config: expected string or null, found 7"]),
        (json!({"type": "integer"}), json!(1.0), &[]),
        (json!({"type": "integer"}), json!(1.5), &["config: expected integer, found 1.5"]),
        (json!({"type": "integer"}), json!(u64::MAX), &[]),
        (json!({"type": "number"}), json!(3), &[]),
        (json!({"type": "boolean"}), json!("true"), &["config: expected boolean, found \"true\""]),
        (json!({"type": "array"}), json!({}), &["config: expected array, found {}"]),
        (json!({"enum": ["a", 1, null]}), json!(1.0), &[]),
        (json!({"enum": ["a", 1]}), json!("b"), &["config: expected one of \"a\", 1, found \"b\""]),
        (json!({"minimum": 1, "maximum": 65535}), json!(0), &["config: must be at least 1, found 0"]),
        (
            json!({"minimum": 1, "maximum": 65535}),
            json!(65536),
            &["config: must be at most 65535, found 65536"],
        ),
        (json!({"maximum": 0.5}), json!(1), &["config: must be at most 0.5, found 1"]),
        (
            json!({"minimum": u64::MAX}),
            json!(u64::MAX - 1),
            &["config: must be at least 18446744073709551615, found 18446744073709551614"],
        ),
        (json!({"minimum": 1}), json!("text"), &[]),
        (json!({"minLength": 1}), json!(""), &["config: must have at least 1 character, found \"\""]),
        (json!({"minLength": 2, "maxLength": 2}), json!("äö"), &[]),
        (json!({"maxLength": 2}), json!("abc"), &["config: must have at most 2 characters, found 3"]),
        (json!({"pattern": "^[a-z]+$"}), json!("abc"), &[]),
        (json!({"pattern": "b"}), json!("abc"), &[]),
        (json!({"pattern": "^[a-z]+$"}), json!("a1"), &["config: must match ^[a-z]+$, found \"a1\""]),
        (
            json!({"items": {"type": "string"}}),
            json!(["a", 2, "c"]),
            &["config[1]: expected string, found 2"],
        ),
        (json!({"required": ["a", "b"]}), json!({"a": 1}), &["config: the field b is missing"]),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!({"a": 1, "c": 2}),
            &["config.a: expected string, found 1", "config.c: unknown field, expected a"],
        ),
        (
            json!({"additionalProperties": false}),
            json!({"a": 1}),
            &["config.a: unknown field, expected none"],
        ),
        (json!({"properties": {"a": {}}, "additionalProperties": true}), json!({"b": 1}), &[]),
        (
            json!({"additionalProperties": {"items": {"properties": {"host": {"type": "string"}}}}}),
            json!({"mirrors": [{"host": "a"}, {"host": null}]}),
            &["config.mirrors[1].host: is missing or null, expected string"],
        ),
    ];
    for (text, value, expected) in cases {
        let found: Vec<String> =
            schema(text.clone()).mismatches(value, "config").iter().map(ToString::to_string).collect();
        assert_eq!(found, *expected, "{text} {value}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let deep = (0..40).fold(json!({}), |inner, _| json!({"items": inner}));
    let cases: &[(Value, &str, &str)] = &[
        (json!({"anyOf": []}), "config.anyOf", "the keyword is not supported: use type, enum,"),
        (json!({"properties": {"a": {"format": "uri"}}}), "config.properties.a.format", "not supported"),
        (json!({"$ref": "#/$defs/a"}), "config.$ref", "not supported"),
        (json!({"items": {"const": 1}}), "config.items.const", "not supported"),
        (json!(true), "config", "a schema must be an object, found true"),
        (
            json!({"type": "text"}),
            "config.type",
            "must be one of object, array, string, number, integer, boolean, null",
        ),
        (json!({"type": []}), "config.type", "found []"),
        (json!({"enum": []}), "config.enum", "must be a list of 1 to 256 values, found []"),
        (json!({"enum": vec![0; 257]}), "config.enum", "must be a list of 1 to 256 values"),
        (json!({"required": "a"}), "config.required", "must be a list of at most 256 names, found \"a\""),
        (json!({"required": [1]}), "config.required", "names"),
        (
            json!({"properties": []}),
            "config.properties",
            "must be an object of at most 256 schemas, found []",
        ),
        (json!({"properties": {"a": 1}}), "config.properties.a", "a schema must be an object"),
        (json!({"additionalProperties": 1}), "config.additionalProperties", "a schema must be an object"),
        (json!({"minimum": "1"}), "config.minimum", "must be a number, found \"1\""),
        (json!({"minLength": -1}), "config.minLength", "must be a whole number of at least 0, found -1"),
        (json!({"maxLength": 1.5}), "config.maxLength", "must be a whole number"),
        (json!({"pattern": "("}), "config.pattern", "\"(\" is no regular expression"),
        (json!({"pattern": "a(?=b)"}), "config.pattern", "is no regular expression"),
        (json!({"pattern": "(((a{100}){100}){100}){100}"}), "config.pattern", "is no regular expression"),
        (json!({"pattern": "a".repeat(1025)}), "config.pattern", "must be a text of at most 1024 bytes"),
        (deep, "", "has more than 32 schemas in each other"),
    ];
    for (text, path, words) in cases {
        let error = Schema::compile(text.clone(), "config").expect_err("it is refused");
        assert!(path.is_empty() || error.path == *path, "{text}: {error}");
        assert!(error.problem.contains(words), "{text}: {error}");
    }
}

#[test]
fn keywords_that_say_nothing_of_a_value_are_kept() {
    let text = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a", "description": "b", "default": 1,
        "examples": [2], "deprecated": false, "$comment": "c", "$id": "d",
    });
    let schema = schema(text.clone());
    assert_eq!(schema.mismatches(&json!("anything"), "config"), []);
    assert_eq!(schema.text(), &text);
}

#[test]
fn findings_and_their_words_are_bounded() {
    let schema = schema(json!({"items": {"type": "string"}, "additionalProperties": false}));
    let many = schema.mismatches(&json!(vec![0; 1000]), "config");
    assert_eq!(many.len(), FINDINGS_MAX);
    let fields: Map<String, Value> = (0..100).map(|at| (format!("{at}").repeat(500), json!(1))).collect();
    let many = schema.mismatches(&Value::Object(fields), "config");
    assert_eq!(many.len(), FINDINGS_MAX);
    assert!(many.iter().all(|finding| finding.to_string().len() < 600), "{many:?}");
}

#[test]
fn an_outline_has_the_fields_with_the_required_ones_first() {
    let schema = schema(json!({
        "required": ["label"],
        "properties": {
            "any": {},
            "label": {"type": "string", "description": "Key of\nthe label."},
            "mode": {"type": ["string", "null"]},
        },
    }));
    let lines: Vec<(String, String, bool, Option<String>)> = schema
        .outline()
        .into_iter()
        .map(|field| (field.name, field.types, field.is_required, field.description))
        .collect();
    let of = |name: &str, types: &str, required, description: Option<&str>| {
        (name.to_owned(), types.to_owned(), required, description.map(str::to_owned))
    };
    assert_eq!(
        lines,
        [
            of("label", "string", true, Some("Key of\\nthe label.")),
            of("any", "any", false, None),
            of("mode", "string or null", false, None),
        ]
    );
}

//! Tests of the decoding of configurations.

use serde::Deserialize;

use super::parse;
use crate::error::describe;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Optional {
    #[serde(default)]
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Required {
    name: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nested {
    ports: Vec<u16>,
    inner: Option<Required>,
}

fn shown<C: serde::de::DeserializeOwned + std::fmt::Debug + 'static>(text: &str) -> String {
    match parse::<C>(text) {
        Ok(config) => format!("{config:?}"),
        Err(error) => format!("error: {}", describe(&error)),
    }
}

#[test]
fn configurations_are_decoded_or_refused_with_the_reason() {
    let cases = [
        (shown::<()>("null"), "()"),
        (shown::<()>(" {} "), "()"),
        (shown::<()>(r#"{"a": 1}"#), "error: the plugin takes no configuration"),
        (shown::<Optional>("null"), "Optional { names: [] }"),
        (shown::<Optional>(r#"{"names": ["a"]}"#), r#"Optional { names: ["a"] }"#),
        (shown::<Required>("null"), "error: configuration: missing field `name` at line 1 column 2"),
        (
            shown::<Required>(r#"{"nmae": "a"}"#),
            "error: configuration: nmae: unknown field `nmae`, expected `name` at line 1 column 7",
        ),
        (shown::<Option<Required>>("null"), "None"),
        (
            shown::<Nested>(r#"{"ports": [1, 65536]}"#),
            "error: configuration: ports[1]: invalid value: integer `65536`, expected u16 at line 1 column 19",
        ),
        (
            shown::<Nested>(r#"{"ports": [], "inner": {"name": 1}}"#),
            "error: configuration: inner.name: invalid type: integer `1`, expected a string at line 1 column 33",
        ),
        (
            shown::<Nested>(r#"{"ports": []} {}"#),
            "error: configuration: trailing characters at line 1 column 15",
        ),
        (shown::<Required>("{"), "error: configuration: EOF while parsing an object at line 1 column 1"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

//! Values that are as they should be, and others.

use serde_json::{Value, json};

use super::{check, judge};
use crate::Parameters;

fn parameters(mut value: Value) -> Parameters {
    value["port"] = json!(1);
    serde_json::from_value(value).expect("parameters")
}

#[test]
fn a_value_is_compared_with_what_it_should_be() {
    let answer = json!({
        "status": "up", "depth": 1000, "load": 0.5, "ready": true, "none": null, "a/b": {"list": [1, {"x": 2.0}]},
        "big": 9_007_199_254_740_993_u64,
    });
    let cases = [
        (json!({}), Ok("")),
        (json!({"pointer": "/status", "equals": "up"}), Ok("/status is \"up\"")),
        (json!({"pointer": "/status", "equals": "down"}), Err("/status is \"up\", not \"down\"")),
        (json!({"pointer": "/ready", "equals": true}), Ok("/ready is true")),
        (json!({"pointer": "/ready", "equals": "true"}), Err("/ready is true, not \"true\"")),
        (json!({"pointer": "/nowhere", "equals": 1}), Err("the answer has no /nowhere")),
        (json!({"pointer": "/depth", "equals": 1000.0}), Ok("/depth is 1000")),
        (json!({"pointer": "/a~1b/list/0", "equals": 1}), Ok("/a~1b/list/0 is 1")),
        (
            json!({"pointer": "/a~1b", "equals": {"list": [1.0, {"x": 2}]}}),
            Ok("/a~1b is {\"list\":[1,{\"x\":2.0}]}"),
        ),
        (json!({"pointer": "/a~1b/list", "equals": [1]}), Err("/a~1b/list is [1,{\"x\":2.0}], not [1]")),
        (json!({"pointer": "/status", "oneOf": ["down", "up"]}), Ok("/status is \"up\"")),
        (json!({"pointer": "/status", "oneOf": ["a", 1]}), Err("/status is \"up\", not one of \"a\", 1")),
        (json!({"pointer": "/depth", "max": 1000}), Ok("/depth is 1000")),
        (json!({"pointer": "/depth", "max": 999.5}), Err("/depth is 1000, not at most 999.5")),
        (json!({"pointer": "/load", "min": 0.5, "max": 1}), Ok("/load is 0.5")),
        (json!({"pointer": "/load", "min": 1}), Err("/load is 0.5, not at least 1")),
        (json!({"pointer": "/status", "min": 1}), Err("/status is \"up\", not a number")),
        // As numbers with a point these two are the same.
        (
            json!({"pointer": "/big", "max": 9_007_199_254_740_992_u64}),
            Err("/big is 9007199254740993, not at most 9007199254740992"),
        ),
    ];
    for (expected, verdict) in cases {
        let found = judge(&parameters(expected.clone()), &answer);
        assert_eq!(found.as_deref().map_err(String::as_str), verdict, "{expected}");
    }
    // `null` can't be asked for by `equals`, which serde takes for nothing, but by `oneOf`.
    let none = judge(&parameters(json!({"pointer": "/none", "oneOf": [null]})), &answer);
    assert_eq!(none, Ok("/none is null".to_owned()));
    let large = judge(&parameters(json!({"pointer": "", "equals": 1})), &json!("x".repeat(1_000)));
    assert!(large.is_err_and(|words| words.len() < 300 && words.contains('…')));
}

#[test]
fn expectations_that_say_nothing_or_too_much_are_refused() {
    let cases = [
        (json!({}), Ok(())),
        (json!({"pointer": "", "equals": 1}), Ok(())),
        (json!({"pointer": "/a", "min": 1, "max": 1}), Ok(())),
        (json!({"equals": 1}), Err("pointer: Required value: a JSON pointer such as /status")),
        (json!({"pointer": "/a"}), Err("pointer: must have one of equals, oneOf, min or max")),
        (json!({"pointer": "a", "equals": 1}), Err("pointer: \"a\" is neither empty nor begins with /")),
        (json!({"pointer": "/a", "oneOf": []}), Err("oneOf: must not be empty")),
        (json!({"pointer": "/a", "min": 2, "max": 1}), Err("min: 2 is more than max, 1")),
        (
            json!({"pointer": "/a", "equals": 1, "max": 1}),
            Err("equals: only one of equals, oneOf and min/max may be there"),
        ),
    ];
    for (expected, verdict) in cases {
        let found = check(&parameters(expected.clone())).map_err(|error| error.to_string());
        assert_eq!(found, verdict.map_err(str::to_owned), "{expected}");
    }
}

//! What a handler alone is called, and how it is configured.

use super::*;

#[test]
fn a_component_has_a_name_that_an_entry_can_have() {
    let long = "a".repeat(100);
    let cases = [
        ("no-latest-tag.wasm", "no-latest-tag"),
        ("httpGet", "httpget"),
        ("My Plugin.v2.wasm", "my-plugin-v2"),
        ("_.wasm", "component"),
        ("", "component"),
        (long.as_str(), &long[..63]),
    ];
    for (component, expected) in cases {
        assert_eq!(entry_name(component), expected, "{component}");
    }
}

#[test]
fn an_expression_becomes_a_validation() {
    assert_eq!(expression_config("true", None), json!({"validations": [{"expression": "true"}]}));
    let expected = json!({"validations": [{"expression": "false", "message": "never"}]});
    assert_eq!(expression_config("false", Some("never")), expected);
}

#[test]
fn a_handler_alone_has_an_entry_that_is_asked_about_every_pod() {
    let single = SingleHandler {
        name: "sysctls".to_owned(),
        wasm: Arc::from([]),
        config: json!({"a": 1}),
        limits: json!({"timeout": "1s"}),
    };
    let alone = single.file(&[]);
    let entry = &alone["plugins"][0];
    assert_eq!((&entry["name"], &entry["config"]), (&json!("sysctls"), &json!({"a": 1})));
    assert_eq!(entry["admission"]["match"]["systemPods"], true);
    let next_to_shipped = single.file(&plugins::builtins(&[]));
    assert_eq!(next_to_shipped["plugins"][0]["name"], "component");
}

//! What a handler alone is called, and how it is configured.

use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;

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
fn a_configuration_that_is_too_long_is_refused_and_not_cut_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yaml");
    let argument = format!("@{}", path.display());
    let mut text = "a: 1\n".to_owned();
    for (length, expected) in [(MANIFEST_BYTES_MAX, true), (MANIFEST_BYTES_MAX + 1, false)] {
        text.extend(std::iter::repeat_n('\n', length - text.len()));
        std::fs::write(&path, &text).expect("a temporary folder is writable");
        match config(Some(&argument), &mut Files::default()) {
            Ok(value) => assert!(expected && value == json!({"a": 1}), "{length}: {value}"),
            Err(error) => {
                let refused = format!(
                    "failed to read {}: the file must have at most {MANIFEST_BYTES_MAX} bytes",
                    path.display()
                );
                assert!(!expected && error.is_invalid_input(), "{length}: {error}");
                assert_eq!(one_line(&error), refused);
            }
        }
    }
}

#[test]
fn a_configuration_that_is_no_text_is_refused_with_the_file_and_the_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yaml");
    std::fs::write(&path, b"a: \"\xff\"\n").expect("a temporary folder is writable");
    let argument = format!("@{}", path.display());
    let error = config(Some(&argument), &mut Files::default()).expect_err("it is no text");
    assert!(error.is_invalid_input(), "{error}");
    let refused =
        format!("failed to read {}: the file must be UTF-8 text: invalid byte at offset 4", path.display());
    assert_eq!(one_line(&error), refused);
}

#[test]
fn a_configuration_is_a_file_or_the_value_itself_and_a_misspelt_file_is_neither() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yaml").display().to_string();
    std::fs::write(&path, "a: 1\n").expect("a temporary folder is writable");
    let config = |text: &str| config(Some(text), &mut Files::default());
    for text in [path.as_str(), format!("@{path}").as_str(), "a: 1", r#"{"a": 1}"#] {
        assert_eq!(config(text).ok(), Some(json!({"a": 1})), "{text}");
    }
    assert_eq!(config(r#""a text""#).ok(), Some(json!("a text")));
    let misspelt = config("confg.yaml").expect_err("there is no such file");
    assert!(misspelt.is_invalid_input(), "{misspelt}");
    assert_eq!(misspelt.to_string(), "--config must be a file or a JSON object, found confg.yaml");
    let broken = config("a: [b").expect_err("no YAML");
    assert_eq!(broken.to_string(), "--config: line 1, column 4: unclosed bracket '['");
}

#[test]
fn an_expression_becomes_a_validation() {
    let expected = json!({"validations": [{"expression": "true"}], "operations": ["image-resolved"]});
    assert_eq!(expression_config("true", None, Operation::ImageResolved), expected);
    let expected =
        json!({"validations": [{"expression": "false", "message": "never"}], "operations": ["add"]});
    assert_eq!(expression_config("false", Some("never"), Operation::Add), expected);
}

#[test]
fn a_handler_alone_has_an_entry_that_is_asked_about_every_pod() {
    let single = SingleHandler {
        name: "sysctls".to_owned(),
        wasm: Arc::from([]),
        config: json!({"a": 1}),
        limits: json!({"timeout": "1s"}),
        rechecks: false,
    };
    let alone = single.file(&[]);
    let entry = &alone["plugins"][0];
    assert_eq!((&entry["name"], &entry["config"]), (&json!("sysctls"), &json!({"a": 1})));
    assert_eq!(entry["admission"]["match"]["systemPods"], true);
    let next_to_shipped = single.file(&plugins::builtins(&[]));
    assert_eq!(next_to_shipped["plugins"][0]["name"], "component");
}

//! Errors as one line.

use super::*;

#[test]
fn several_errors_are_one_line_as_in_go() {
    for (errors, expected) in
        [(vec!["a"], "a"), (vec!["a", "b"], "[a, b]"), (vec!["a", "a"], "a"), (vec!["a", "b", "a"], "[a, b]")]
    {
        assert_eq!(aggregate(errors.into_iter().map(ToOwned::to_owned)), expected);
    }
}

#[test]
fn faults_of_yaml_are_one_line_with_their_place() {
    for (text, expected) in [
        ("a: [b", "line 1, column 4: unclosed bracket '['"),
        ("a: 1\na: 2\n", "line 2, column 1: duplicate key \"a\" in a mapping"),
    ] {
        let error = serde_saphyr::from_str::<serde_json::Value>(text).expect_err("no YAML");
        assert_eq!(yaml_fault(&error), expected, "{text:?}");
    }
}

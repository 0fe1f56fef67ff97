//! Faults with their fields, and places of fields.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    name: String,
    count: i32,
    port: u16,
    share: f64,
    enabled: bool,
    mode: Mode,
    list: Vec<Document>,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Mode {
    #[default]
    Enforce,
}

#[test]
fn a_value_of_another_type_is_named_with_its_place_its_field_and_what_is_there() {
    for (text, expected) in [
        ("count: a\n", "line 1, column 8: count: expected a whole number, found a"),
        (
            "name: x\nlist:\n- port: \"a b\"\n",
            "line 3, column 9: list[0].port: expected a whole number that is not negative, found ",
        ),
        ("port: 65536", "line 1, column 7: port: expected a whole number that is not negative, found 65536"),
        ("share: half", "line 1, column 8: share: expected a number, found half"),
        (
            "list: [{}, {enabled: maybe}]",
            "line 1, column 22: list[1].enabled: expected true or false, found maybe",
        ),
        ("name: [a]", "line 1, column 7: name: expected a string, found a list"),
        ("name: {a: b}", "line 1, column 7: name: expected a string, found a map"),
        ("name: null", "line 1, column 7: name: expected a string, found null"),
        ("list: a", "line 1, column 7: list: expected a list, found a"),
        ("labels: [a]", "line 1, column 9: labels: expected a map, found a list"),
        (
            "list: [{list: [{labels: {a.b/c: []}}]}]",
            "line 1, column 33: list[0].list[0].labels.a.b/c: expected a string, found a list",
        ),
        ("list:\n- nmae: a\n", "line 2, column 3: list[0].nmae: unknown field `nmae`, expected one of "),
        ("mode: audit", "line 1, column 7: mode: unknown variant `audit`"),
        ("name: a\nname: b\n", "line 2, column 1: "),
        ("list: [", "line 1, column 7: "),
    ] {
        let fault = read::<Document>(text).expect_err(text);
        assert!(fault.starts_with(expected), "{text:?}: {fault:?} doesn't begin with {expected:?}");
        assert!(!fault.contains('\n'), "{fault:?}");
    }
    assert_eq!(read::<Document>("name: 5\nlist: []\n").expect("a number is a text, too").name, "5");
}

#[test]
fn faults_of_types_are_said_in_words_of_users() {
    for (words, expected) in [
        ("invalid type: sequence, expected a string", "expected a string, found a list"),
        ("invalid type: map, expected i32", "expected a whole number, found a map"),
        (
            "invalid type: string \"a, expected b\", expected i64",
            "expected a whole number, found \"a, expected b\"",
        ),
        (
            "invalid value: integer `-1`, expected u32",
            "expected a whole number that is not negative, found -1",
        ),
        ("invalid type: floating point `1.5`, expected i32", "expected a whole number, found 1.5"),
        ("invalid type: boolean `true`, expected a sequence", "expected a list, found true"),
        ("invalid type: null, expected PodSpec", "expected PodSpec, found null"),
        ("invalid type: string \"x\", expected struct Pod", "expected a map, found \"x\""),
        ("missing field `name`", "missing field `name`"),
    ] {
        assert_eq!(type_fault(words), expected, "{words}");
    }
}

#[test]
fn a_field_is_found_by_its_path() {
    let text = "\
# a pod
metadata:
  labels: {app: web, app.kubernetes.io/name: x}
spec:
  containers:
  - &first
    name: a
    ports: [{containerPort: 80}, {containerPort: b}]
  - *first
extra: {a.b: {c: 1}, a: {b.c: 2}}
";
    for (path, expected) in [
        ("metadata", Some((3, 3))),
        ("metadata.labels", Some((3, 11))),
        ("metadata.labels.app", Some((3, 17))),
        ("metadata.labels.app.kubernetes.io/name", Some((3, 46))),
        ("metadata.labels[app.kubernetes.io/name]", Some((3, 46))),
        ("spec.containers[0].ports[1].containerPort", Some((8, 50))),
        ("spec.containers[1]", Some((9, 5))),
        ("extra.a.b.c", Some((10, 18))),
        ("spec.containers[2].name", None),
        ("spec.container", None),
        ("spec.containers[0].name.first", None),
        ("spec.containers.name", None),
    ] {
        let found = place_of(text, Options::default(), path).map(|place| (place.line, place.column));
        assert_eq!(found, expected, "{path}");
    }
    assert_eq!(place_of("a: [", Options::default(), "a"), None);
}

proptest::proptest! {
    #[test]
    fn no_text_and_no_path_break_the_search(text in "\\PC{0,100}", path in "[a-c.\\[\\]0-2]{0,10}") {
        let _ = place_of(&text, Options::default(), &path);
        let _ = read::<Document>(&text);
    }
}

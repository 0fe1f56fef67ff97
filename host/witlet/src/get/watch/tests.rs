//! The forms of a change.

use serde_json::json;

use super::*;

#[test]
fn a_change_is_a_line_of_json_or_a_document_of_yaml() {
    let change = Change { kind: "ADDED".to_owned(), object: json!({"reason": "Started"}) };
    let json = document(&change, OutputFormat::Json).expect("it has a form");
    assert_eq!(json, "{\"type\":\"ADDED\",\"object\":{\"reason\":\"Started\"}}\n");
    let yaml = document(&change, OutputFormat::Yaml).expect("it has a form");
    assert!(yaml.starts_with("---\ntype: ADDED\n"), "{yaml}");
}

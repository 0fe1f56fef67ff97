//! Folders of the kit's own.

use super::*;
use crate::plugin_response::names;

#[test]
fn paths_of_a_configuration_are_found_once() {
    let mut found = Vec::new();
    let config = json!({"folder": "/pods", "more": ["/pods", "/etc/x", "relative", "/", "/a/../b"], "n": 1});
    paths(&config, &mut found);
    found.sort();
    assert_eq!(found, ["/etc/x", "/pods"]);
}

#[test]
fn good_files_are_pods_of_different_names() {
    let texts: Vec<String> = manifests(2)
        .into_values()
        .map(|content| match content {
            Content::File(bytes) => String::from_utf8(bytes).expect("text"),
            Content::Special(_) => panic!("a file"),
        })
        .collect();
    assert_eq!(names(&texts), "default/json-0, default/yaml-0, default/json-1, default/yaml-1");
}

#[test]
fn ordinary_questions_can_be_read() {
    let file = CaseFile::parse("questions.yaml", ORDINARY).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(file.cases.len(), 3);
}

//! What the command line says of an entry.

use serde_json::json;

use super::*;

#[test]
fn grants_given_apart_stand_side_by_side() {
    let mut grants = Value::Null;
    merge(&mut grants, json!({"network": ["pod"]}));
    merge(&mut grants, json!({"exec": true}));
    merge(&mut grants, json!({"network": ["probe-host"]}));
    assert_eq!(grants, json!({"network": ["probe-host"], "exec": true}));
}

#[test]
fn a_configuration_is_a_file_or_the_value_itself() {
    assert_eq!(config(r#"{"allow": ["a"]}"#).ok(), Some(json!({"allow": ["a"]})));
    assert_eq!(config("allow: [a]").ok(), Some(json!({"allow": ["a"]})));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "allow: [b]\n").expect("the folder is writable");
    assert_eq!(config(&file.display().to_string()).ok(), Some(json!({"allow": ["b"]})));
    let wrong = config("{").expect_err("no JSON");
    assert!(wrong.to_string().starts_with("--config: "), "{wrong}");
}

#[test]
fn a_misspelt_file_is_not_taken_for_a_configuration() {
    let wrong = config("/nowhere/confg.yaml").expect_err("there is no such file");
    assert!(wrong.to_string().contains("must be a file or a JSON object"), "{wrong}");
    assert_eq!(config(r#""a text""#).ok(), Some(json!("a text")));
    assert_eq!(config("null").ok(), Some(Value::Null));
}

#[test]
fn a_file_larger_than_any_configuration_is_refused_and_not_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.yaml");
    let line = "a: 1\n";
    let size = usize::try_from(CONFIG_BYTES_MAX).expect("it is small");
    std::fs::write(&file, format!("{line}#{}", "x".repeat(size))).expect("the folder is writable");
    let wrong = config(&file.display().to_string()).expect_err("it is too large");
    assert!(matches!(wrong, EntryError::TooLarge { .. }), "{wrong}");
}

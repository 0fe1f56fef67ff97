//! Upstream's rules (`core/v1/toleration_test.go`), one case each.

use serde_json::json;

use super::*;

#[test]
fn a_toleration_must_fit_in_effect_key_and_value() {
    let taint = Taint { key: "foo".to_owned(), value: "bar".to_owned(), effect: "NoExecute".to_owned() };
    for (toleration, expected) in [
        (json!({"key": "foo", "operator": "Exists", "effect": "NoExecute"}), true),
        (json!({"key": "foo", "operator": "Exists"}), true),
        (json!({"operator": "Exists"}), true),
        (json!({"operator": "Exists", "effect": "NoExecute"}), true),
        (json!({"operator": "Exists", "effect": "NoSchedule"}), false),
        (json!({"key": "other", "operator": "Exists"}), false),
        (json!({"key": "foo", "operator": "Equal", "value": "bar", "effect": "NoExecute"}), true),
        (json!({"key": "foo", "value": "bar"}), true),
        (json!({"key": "foo", "value": "baz"}), false),
        (json!({"key": "foo"}), false),
        (json!({"key": "foo", "operator": "Equal", "value": "bar", "effect": "NoSchedule"}), false),
        (json!({"value": "bar"}), true),
        (json!({"key": "foo", "operator": "Lt", "value": "bar"}), false),
        (json!({"key": "foo", "operator": "Gt", "value": "bar"}), false),
        (json!({"key": "foo", "operator": "exists"}), false),
        (json!({"key": null, "operator": "Exists", "value": null, "effect": null}), true),
        (json!({"key": "foo", "operator": "Exists", "tolerationSeconds": 5}), true),
    ] {
        let toleration_read: Toleration = serde_json::from_value(toleration.clone()).expect("a toleration");
        assert_eq!(toleration_read.tolerates(&taint), expected, "{toleration}");
    }
}

#[test]
fn a_taint_without_a_value_is_tolerated_by_its_key() {
    let taint = Taint { key: "foo".to_owned(), value: String::new(), effect: "NoExecute".to_owned() };
    let toleration: Toleration = serde_json::from_value(json!({"key": "foo"})).expect("a toleration");
    assert!(toleration.tolerates(&taint));
}

//! What is tried, and that nothing is tried twice.

use serde_json::json;

use super::*;

#[test]
fn known_values_are_changed_and_none_is_tried_twice() {
    let all = hostile_values("parameters", &[json!({"port": 1}), json!({"port": 2})]);
    assert!(all.contains(&("parameters with null as \"port\"".to_owned(), json!({"port": null}))));
    let texts: BTreeSet<String> = all.iter().map(|(_, value)| value.to_string()).collect();
    assert_eq!(texts.len(), all.len());
    assert!(all.len() < VALUES_MAX);
}

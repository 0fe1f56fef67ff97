//! Whose word counts for what.

use serde_json::json;

use super::*;

fn node(value: serde_json::Value) -> Node {
    serde_json::from_value(value).expect("a node")
}

#[test]
fn others_words_go_over_the_machines_and_its_figures_stay() {
    let facts = NodeFacts {
        name: "n".into(),
        node: node(json!({
            "metadata": {"name": "n", "labels": {"own": "1"}},
            "status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2"}, "declaredFeatures": ["A"]},
        })),
        ..NodeFacts::default()
    };
    let object = node(json!({
        "metadata": {"name": "n", "uid": "u", "labels": {"zone": "a"}},
        "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]},
        "status": {
            "capacity": {"cpu": "1", "example.com/gpu": "2", "pods": "5"},
            "allocatable": {"cpu": "1", "example.com/gpu": "1"},
        },
    }));
    let seen = overlay(&facts, &object);
    assert_eq!(
        serde_json::to_value(&seen.node).expect("JSON"),
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "uid": "u", "labels": {"zone": "a"}},
            "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]},
            "status": {
                "capacity": {"cpu": "2", "example.com/gpu": "2"},
                "allocatable": {"cpu": "2", "example.com/gpu": "1"},
                "declaredFeatures": ["A"],
            },
        })
    );
    let other = node(json!({"metadata": {"name": "m", "labels": {"zone": "b"}}}));
    assert_eq!(overlay(&facts, &other), facts);
}

//! The same question in other words is the same question.

use serde_json::{Value, json};

use super::*;
use crate::plugin_request::pod;

fn of_pod(json: Value) -> PluginRequest {
    PluginRequest::admit(admission_request(Operation::Add, pod(&json)))
}

fn request(question: &PluginRequest) -> &AdmissionRequest {
    match question {
        PluginRequest::Admit(request, _) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_written_otherwise_in_pod_and_node() {
    let asks = |cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}});
        of_pod(
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "resources": resources}]}}),
        )
    };
    let first = asks("500m");
    let others = other_quantities(&first);
    assert_eq!(others.len(), WAYS);
    for other in &others {
        assert_ne!(request(other).pod, request(&first).pod);
        assert_ne!(request(other).node.node, request(&first).node.node);
    }
    let plain = of_pod(json!({"metadata": {"name": "a"}, "spec": {"containers": []}}));
    assert!(other_quantities(&plain).is_empty());
}

#[test]
fn added_facts_stand_around_the_others() {
    let first = of_pod(json!({"metadata": {"name": "a"}}));
    let more = more_facts(&first);
    let keys: Vec<&str> = request(&more[0]).node.facts.keys().map(String::as_str).collect();
    assert_eq!((keys[0], keys[keys.len() - 1]), (UNKNOWN_FACTS[0], UNKNOWN_FACTS[1]));
}

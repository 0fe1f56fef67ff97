//! Edits of resources.

use serde_json::{Value, json};

use super::*;

fn pod(resources: &Value) -> Pod {
    let spec = json!({
        "initContainers": [{"name": "i", "resources": resources}],
        "containers": [{"name": "a", "resources": resources}],
    });
    serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).expect("a pod")
}

#[test]
fn an_edit_is_counted_by_what_it_asks_for() {
    let none = json!({});
    let some = json!({"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}});
    let more =
        json!({"requests": {"cpu": "200m", "memory": "1024Mi"}, "limits": {"memory": "1Gi", "cpu": "1"}});
    let cases = [
        (&some, &some, vec![]),
        (
            &none,
            &some,
            vec![("cpu", "requests", "add"), ("memory", "requests", "add"), ("memory", "limits", "add")],
        ),
        (
            &some,
            &more,
            vec![("cpu", "requests", "increase"), ("cpu", "limits", "add"), ("memory", "limits", "decrease")],
        ),
        (
            &more,
            &none,
            vec![
                ("cpu", "requests", "remove"),
                ("cpu", "limits", "remove"),
                ("memory", "requests", "remove"),
                ("memory", "limits", "remove"),
            ],
        ),
    ];
    for (old, new, expected) in cases {
        let words = |one: &RequestedResize| (one.resource, one.requirement, one.operation);
        // An init container that isn't a sidecar keeps what it has.
        let found: Vec<_> = requested_resizes(&pod(old), &pod(new)).iter().map(words).collect();
        assert_eq!(found, expected, "{old} {new}");
    }
    let mut other = pod(&more);
    other.spec.as_mut().expect("a spec").containers[0].name = "b".to_owned();
    assert_eq!(requested_resizes(&pod(&some), &other), []);
}

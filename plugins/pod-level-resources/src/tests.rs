//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Verdict};

use super::{MESSAGE, PodLevelResources, REASON};

fn verdict(resources: Value, gate: Option<&str>) -> Verdict {
    let fact = |gate: &str| ("feature-gates.PodLevelResources".to_owned(), gate.to_owned());
    let facts = RequestFacts {
        pod: PodFacts { manifest: json!({"spec": {"resources": resources}}), ..PodFacts::default() },
        node: NodeFacts { facts: gate.map(fact).into_iter().collect(), ..NodeFacts::default() },
        ..RequestFacts::default()
    };
    PodLevelResources::admit(&facts.request(), &()).expect("a verdict")
}

#[test]
fn a_pod_that_states_resources_as_a_whole_needs_the_gate() {
    for (resources, states_any) in [
        (Value::Null, false),
        (json!({}), false),
        (json!({"requests": {}, "limits": {}}), false),
        (json!({"requests": {"cpu": "1"}}), true),
        (json!({"limits": {"memory": "1Gi"}}), true),
        (json!({"limits": {"hugepages-2Mi": "4Mi"}}), true),
        (json!({"requests": {"ephemeral-storage": "1Gi"}}), false),
        (json!({"requests": null}), false),
    ] {
        assert_eq!(verdict(resources.clone(), None), Verdict::Admit, "{resources}");
        assert_eq!(verdict(resources.clone(), Some("true")), Verdict::Admit, "{resources}");
        let expected = if states_any { Verdict::reject(REASON, MESSAGE) } else { Verdict::Admit };
        assert_eq!(verdict(resources.clone(), Some("false")), expected, "{resources}");
    }
}

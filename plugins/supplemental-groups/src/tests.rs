//! Upstream's cases (`predicate_test.go`: `TestPodAdmissionBasedOnSupplementalGroupsPolicy`, as of 1.33 and later).

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Verdict};

use super::{MESSAGE, REASON, SupplementalGroups};

fn verdict(policy: Value, features: Value) -> Verdict {
    let pod = json!({"spec": {"securityContext": {"supplementalGroupsPolicy": policy}}});
    let facts = RequestFacts {
        pod: PodFacts { manifest: pod, ..PodFacts::default() },
        node: NodeFacts { manifest: json!({"status": {"features": features}}), ..NodeFacts::default() },
        ..RequestFacts::default()
    };
    SupplementalGroups::admit(&facts.request(), &()).expect("a verdict")
}

#[test]
fn only_strict_needs_a_runtime_that_can() {
    let able = json!({"supplementalGroupsPolicy": true});
    let unable = json!({"supplementalGroupsPolicy": false});
    let refused = Verdict::reject(REASON, MESSAGE);
    for (policy, features, expected) in [
        (json!("Strict"), able.clone(), Verdict::Admit),
        (json!("Strict"), unable.clone(), refused.clone()),
        (json!("Strict"), json!({}), refused.clone()),
        (json!("Strict"), Value::Null, refused),
        (json!("Merge"), unable.clone(), Verdict::Admit),
        (Value::Null, unable, Verdict::Admit),
        (Value::Null, able, Verdict::Admit),
    ] {
        assert_eq!(verdict(policy.clone(), features.clone()), expected, "{policy} on {features}");
    }
}

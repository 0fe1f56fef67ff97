//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Error, Verdict};

use super::{MESSAGE, NodeAffinity, REASON};

fn verdict(spec: Value) -> Result<Verdict, Error> {
    let facts = RequestFacts {
        pod: PodFacts { manifest: json!({ "spec": spec }), ..PodFacts::default() },
        node: NodeFacts {
            name: "n1".to_owned(),
            labels: vec![("zone".to_owned(), "a".to_owned())],
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    };
    NodeAffinity::admit(&facts.request(), &())
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

#[test]
fn a_pod_that_selects_nothing_may_run_anywhere() {
    for spec in [
        json!({}),
        json!({"nodeSelector": {}}),
        json!({"nodeSelector": null}),
        json!({"affinity": {}}),
        json!({"affinity": {"podAffinity": {}, "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}),
    ] {
        assert_eq!(verdict(spec.clone()).expect("a verdict"), Verdict::Admit, "{spec}");
    }
}

#[test]
fn selector_and_affinity_must_both_hold() {
    let refused = Verdict::reject(REASON, MESSAGE);
    let in_zone = |zone: &str| {
        required(json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]))
    };
    let with_selector = |mut spec: Value, zone: &str| {
        spec["nodeSelector"] = json!({ "zone": zone });
        spec
    };
    let cases = [
        (json!({"nodeSelector": {"zone": "a"}}), Verdict::Admit),
        (json!({"nodeSelector": {"zone": "b"}}), refused.clone()),
        (in_zone("a"), Verdict::Admit),
        (in_zone("b"), refused.clone()),
        (with_selector(in_zone("a"), "a"), Verdict::Admit),
        (with_selector(in_zone("a"), "b"), refused.clone()),
        (with_selector(in_zone("b"), "a"), refused.clone()),
        (required(json!([])), refused.clone()),
        (
            required(
                json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
            ),
            Verdict::Admit,
        ),
        (
            required(
                json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]),
            ),
            refused,
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(verdict(spec.clone()).expect("a verdict"), expected, "{spec}");
    }
}

#[test]
fn a_selector_of_another_shape_is_an_error_with_its_place() {
    let error = verdict(json!({"nodeSelector": ["zone"]})).expect_err("not a map");
    assert!(matches!(error, Error::Decode { field, .. } if field == "/spec/nodeSelector"));
}

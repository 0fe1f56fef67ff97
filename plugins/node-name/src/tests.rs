//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Error, Verdict};

use super::{MESSAGE, NodeName, REASON};

fn verdict(spec: Value) -> Result<Verdict, Error> {
    let facts = RequestFacts {
        pod: PodFacts { manifest: json!({ "spec": spec }), ..PodFacts::default() },
        node: NodeFacts { name: "machine1".to_owned(), ..NodeFacts::default() },
        ..RequestFacts::default()
    };
    NodeName::admit(&facts.request(), &())
}

#[test]
fn a_pod_that_names_a_node_runs_there_only() {
    let refused = Verdict::reject(REASON, MESSAGE);
    for (spec, expected) in [
        (json!({}), Verdict::Admit),
        (json!({"nodeName": null}), Verdict::Admit),
        (json!({"nodeName": ""}), Verdict::Admit),
        (json!({"nodeName": "machine1"}), Verdict::Admit),
        (json!({"nodeName": "machine2"}), refused.clone()),
        (json!({"nodeName": "machine11"}), refused),
    ] {
        assert_eq!(verdict(spec.clone()).expect("a verdict"), expected, "{spec}");
    }
}

#[test]
fn a_name_that_is_none_is_an_error() {
    let error = verdict(json!({"nodeName": 7})).expect_err("a number is no name");
    assert_eq!(error.to_string(), "decode /spec/nodeName");
}

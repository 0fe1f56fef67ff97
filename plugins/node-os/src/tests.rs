//! Upstream's cases (`predicate_test.go`: `TestRejectPodAdmissionBasedOnOSSelector`, `…OnOSField`).

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Verdict};

use super::{FIELD_MESSAGE, FIELD_REASON, LABEL_MESSAGE, LABEL_REASON, NodeOs, OS_LABEL};

fn facts(label: Option<&str>, spec: Value, node_label: &str) -> RequestFacts {
    let labels = |os: &str| vec![(OS_LABEL.to_owned(), os.to_owned())];
    RequestFacts {
        pod: PodFacts {
            labels: label.map(labels).unwrap_or_default(),
            manifest: json!({ "spec": spec }),
            ..PodFacts::default()
        },
        node: NodeFacts {
            labels: labels(node_label),
            facts: vec![("os".to_owned(), "linux".to_owned())],
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    }
}

#[test]
fn a_pod_is_refused_whose_label_or_field_names_another_system() {
    let by_label = Verdict::reject(LABEL_REASON, LABEL_MESSAGE);
    let by_field = Verdict::reject(FIELD_REASON, FIELD_MESSAGE);
    let other = json!({"os": {"name": "windows"}});
    for (label, spec, node_label, expected) in [
        (Some("linux"), json!({}), "linux", Verdict::Admit),
        (Some("linux"), json!({}), "dummyOS", Verdict::Admit),
        (Some("dummyOS"), json!({}), "dummyOS", by_label.clone()),
        (Some("dummyOS"), json!({}), "linux", by_label.clone()),
        (None, json!({}), "dummyOS", Verdict::Admit),
        (None, json!({"os": {"name": "linux"}}), "linux", Verdict::Admit),
        (None, other.clone(), "linux", by_field),
        (Some("windows"), other, "linux", by_label),
        (None, json!({"nodeSelector": {"kubernetes.io/os": "dummyOS"}}), "linux", Verdict::Admit),
    ] {
        let facts = facts(label, spec.clone(), node_label);
        let found = NodeOs::admit(&facts.request(), &()).expect("a verdict");
        assert_eq!(found, expected, "{label:?} {spec} on {node_label}");
    }
}

#[test]
fn a_node_that_doesnt_say_its_system_gives_no_verdict_on_who_asks_for_one() {
    let mut facts = facts(None, json!({"os": {"name": "linux"}}), "linux");
    facts.node.facts.clear();
    let error = NodeOs::admit(&facts.request(), &()).expect_err("unknown");
    assert_eq!(error.to_string(), "os: the node doesn't say which system it runs");
    facts.pod.manifest = json!({});
    assert_eq!(NodeOs::admit(&facts.request(), &()).expect("a verdict"), Verdict::Admit);
}

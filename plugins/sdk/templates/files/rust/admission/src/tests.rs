//! The handler, asked about manifests.

use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::{self, RequestFacts, take_log};
use witlet_plugin_sdk_0_2::{AdmissionHandler, Operation, Verdict};

use super::{KEY_BYTES_MAX, {{Camel}}, REASON};

fn handler(label: &str) -> {{Camel}} {
    {{Camel}} { label: label.to_owned() }
}

fn judge(labels: Value) -> Verdict {
    let facts = RequestFacts::of(&json!({"metadata": {"name": "web", "labels": labels}}));
    handler("team").admit(&facts.request()).expect("a verdict")
}

#[test]
fn a_pod_with_the_label_is_admitted_and_reported_in_the_log() {
    assert_eq!(judge(json!({"app": "web", "team": "shop"})), Verdict::admit());
    assert_eq!(take_log()[0].message, "pod web has team=shop");
}

#[test]
fn a_pod_without_the_label_is_rejected() {
    assert_eq!(judge(json!({"app": "web"})), Verdict::reject(REASON, "the pod has no label team"));
    assert_eq!(judge(json!({"team": ""})), Verdict::reject(REASON, "the pod's label team is empty"));
}

#[test]
fn new_pods_alone_are_checked() {
    let setup = facts::validate(&handler("team")).expect("it is loaded");
    assert_eq!(setup.subscribed(), [Operation::Add]);
}

#[test]
fn a_label_that_no_pod_can_have_is_refused() {
    for (label, problem) in [
        (String::new(), "label: may not be empty"),
        ("a".repeat(KEY_BYTES_MAX + 1), "label: is longer than any label's key"),
    ] {
        let error = facts::validate(&handler(&label)).expect_err("no pod has it");
        assert_eq!(error.message(), problem);
    }
}

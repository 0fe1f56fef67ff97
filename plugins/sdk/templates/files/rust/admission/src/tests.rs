//! The handler, asked about plain data.

use witlet_plugin_sdk::facts::{PodFacts, RequestFacts, take_log};
use witlet_plugin_sdk::{AdmissionHandler, Operation, Verdict};

use super::{Config, KEY_BYTES_MAX, {{Camel}}, REASON};

fn judge(operation: Operation, labels: &[(&str, &str)]) -> Verdict {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let pod = PodFacts { labels, ..PodFacts::default() };
    let facts = RequestFacts { operation, pod, ..RequestFacts::default() };
    let config = Config { label: "team".to_owned() };
    {{Camel}}::admit(&facts.request(), &config).expect("a verdict")
}

#[test]
fn a_pod_with_the_label_is_admitted_and_reported_in_the_log() {
    assert_eq!(judge(Operation::Add, &[("app", "web"), ("team", "shop")]), Verdict::Admit);
    assert_eq!(take_log()[0].message, "pod pod has team=shop");
}

#[test]
fn a_pod_without_the_label_is_rejected() {
    let expected = Verdict::reject(REASON, "the pod has no label team");
    assert_eq!(judge(Operation::Add, &[("app", "web")]), expected);
    let expected = Verdict::reject(REASON, "the pod's label team is empty");
    assert_eq!(judge(Operation::Add, &[("team", "")]), expected);
}

#[test]
fn a_resize_isnt_checked() {
    assert_eq!(judge(Operation::Resize, &[]), Verdict::Admit);
}

#[test]
fn a_label_that_no_pod_can_have_is_refused() {
    for (label, problem) in [
        (String::new(), "label: may not be empty"),
        ("a".repeat(KEY_BYTES_MAX + 1), "label: is longer than any label's key"),
    ] {
        let error = {{Camel}}::validate(&Config { label }).expect_err("no pod has it");
        assert_eq!(error.to_string(), problem);
    }
}

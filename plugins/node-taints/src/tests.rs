//! Upstream's cases (`predicate_test.go`: the taints of `TestGeneralPredicates`).

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Error, Taint, Verdict};

use super::{MESSAGE, NodeTaints, REASON};

fn verdict(source: &str, tolerations: Value, taints: &[(&str, &str)]) -> Result<Verdict, Error> {
    let taints = taints.iter().map(|(key, effect)| Taint {
        key: (*key).to_owned(),
        value: String::new(),
        effect: (*effect).to_owned(),
    });
    let facts = RequestFacts {
        pod: PodFacts {
            source: source.to_owned(),
            manifest: json!({"spec": {"tolerations": tolerations}}),
            ..PodFacts::default()
        },
        node: NodeFacts { taints: taints.collect(), ..NodeFacts::default() },
        ..RequestFacts::default()
    };
    NodeTaints::admit(&facts.request(), &())
}

#[test]
fn only_a_no_execute_taint_that_nothing_tolerates_refuses_and_only_pods_of_the_api_server() {
    let refused = Verdict::reject(REASON, MESSAGE);
    let both: &[(&str, &str)] = &[("foo", "NoSchedule"), ("bar", "NoExecute")];
    type Case<'a> = (&'a str, &'a str, Value, &'a [(&'a str, &'a str)], Verdict);
    let cases: [Case<'_>; 9] = [
        ("no taints", "api", json!([]), &[], Verdict::Admit),
        ("all tolerated", "api", json!([{"key": "foo"}, {"key": "bar"}]), both, Verdict::Admit),
        ("only what counts is tolerated", "api", json!([{"key": "bar"}]), both, Verdict::Admit),
        ("NoSchedule", "api", json!([]), &[("foo", "NoSchedule")], Verdict::Admit),
        ("PreferNoSchedule", "api", json!([]), &[("baz", "PreferNoSchedule")], Verdict::Admit),
        ("NoExecute", "api", Value::Null, &[("bar", "NoExecute")], refused.clone()),
        ("one of two", "api", json!([{"key": "a"}]), &[("a", "NoExecute"), ("b", "NoExecute")], refused),
        ("static pods aren't asked", "file", json!([]), both, Verdict::Admit),
        ("nor those of a plugin", "compose", json!([]), both, Verdict::Admit),
    ];
    for (claim, source, tolerations, taints, expected) in cases {
        assert_eq!(verdict(source, tolerations, taints).expect("a verdict"), expected, "{claim}");
    }
}

#[test]
fn tolerations_that_are_none_are_an_error() {
    let error = verdict("api", json!([7]), &[("bar", "NoExecute")]).expect_err("a number is no toleration");
    assert_eq!(error.to_string(), "decode /spec/tolerations");
}

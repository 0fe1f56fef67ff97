//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Datetime, Operation, PodRef, Verdict};

use super::*;

/// 2026-03-02T21:59:30Z, a Monday.
const NOW: i64 = 1_772_488_770;

fn config(text: Value) -> Config {
    let config: Config = serde_json::from_value(text).expect("it decodes");
    TimeWindow::validate(&config).expect("a configuration");
    config
}

fn facts(namespace: &str, labels: &[(&str, &str)]) -> RequestFacts {
    RequestFacts {
        now: Datetime { seconds: NOW, nanoseconds: 999_000_000 },
        pod: PodFacts {
            identity: PodRef { namespace: namespace.to_owned(), name: "a".to_owned(), uid: "u".to_owned() },
            labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            ..PodFacts::default()
        },
        ..RequestFacts::default()
    }
}

fn night() -> Value {
    json!([{"days": ["Mon"], "from": "22:00", "to": "06:00"}])
}

#[test]
fn a_pod_waits_until_the_window_opens_and_no_shorter() {
    let config = config(json!({"windows": night()}));
    let mut facts = facts("default", &[]);
    let verdict = |facts: &RequestFacts| TimeWindow::admit(&facts.request(), &config).expect("a verdict");
    let expected =
        Verdict::defer(REASON, "the next time window opens at 2026-03-02T22:00:00Z", Duration::from_secs(30));
    assert_eq!(verdict(&facts), expected);
    facts.now.seconds += 30;
    assert_eq!(verdict(&facts), Verdict::Admit);
    facts.now.seconds += 8 * 3_600;
    let a_week = Duration::from_secs(7 * 86_400 - 8 * 3_600);
    let expected = Verdict::defer(REASON, "the next time window opens at 2026-03-09T22:00:00Z", a_week);
    assert_eq!(verdict(&facts), expected);
    facts.operation = Operation::Resize;
    assert_eq!(verdict(&facts), Verdict::Admit, "a pod that runs goes on");
}

#[test]
fn the_message_tells_local_time() {
    let config = config(json!({"utcOffset": "+01:00", "windows": [{"from": "23:30", "to": "23:45"}]}));
    let verdict = TimeWindow::admit(&facts("default", &[]).request(), &config).expect("a verdict");
    let expected = Verdict::defer(
        REASON,
        "the next time window opens at 2026-03-02T23:30:00+01:00",
        Duration::from_secs(30 * 60 + 30),
    );
    assert_eq!(verdict, expected);
}

#[test]
fn only_selected_pods_wait() {
    let of = |pods: Value| config(json!({"pods": pods, "windows": night()}));
    let batch: &[(&str, &str)] = &[("app", "x"), ("tier", "batch")];
    for (pods, namespace, labels, waits) in [
        (json!({}), "default", batch, true),
        (json!({"namespaces": ["jobs", "default"]}), "default", batch, true),
        (json!({"namespaces": ["jobs"]}), "default", batch, false),
        (json!({"labels": {"tier": "batch"}}), "default", batch, true),
        (json!({"labels": {"tier": "web"}}), "default", batch, false),
        (json!({"labels": {"tier": "batch", "team": "a"}}), "default", batch, false),
        (json!({"labels": {"tier": "batch"}}), "default", &[], false),
        (json!({"namespaces": ["jobs"], "labels": {"tier": "batch"}}), "default", batch, false),
        (json!({"namespaces": ["jobs"], "labels": {"tier": "batch"}}), "jobs", batch, true),
    ] {
        let verdict =
            TimeWindow::admit(&facts(namespace, labels).request(), &of(pods.clone())).expect("a verdict");
        assert_eq!(verdict != Verdict::Admit, waits, "{pods} {namespace} {labels:?}");
    }
}

#[test]
fn a_wrong_configuration_is_refused_by_its_key() {
    for (text, expected) in [
        (json!({"windows": []}), "windows: must be 1 to 64"),
        (json!({"windows": vec![json!({"from": "00:00", "to": "01:00"}); 65]}), "windows: must be 1 to 64"),
        (
            json!({"windows": night(), "utcOffset": "CET"}),
            "utcOffset: must be Z, or like +02:00, and at most 14 hours",
        ),
        (
            json!({"windows": [{"from": "00:00", "to": "1:00"}]}),
            "windows[0].to: \"1:00\" isn't a time like 06:30",
        ),
        (
            json!({"windows": [{"from": "00:00", "to": "01:00", "days": ["mon"]}]}),
            "windows[0].days[0]: \"mon\" is none of Mon, Tue, Wed, Thu, Fri, Sat, Sun",
        ),
    ] {
        let config: Config = serde_json::from_value(text).expect("it decodes");
        assert_eq!(TimeWindow::validate(&config).expect_err("wrong").to_string(), expected);
    }
    for (text, word) in [
        (json!({}), "windows"),
        (json!({"windows": [], "timezone": "UTC"}), "timezone"),
        (json!({"windows": [{"from": "00:00"}]}), "to"),
        (json!({"windows": [], "pods": {"namespace": "a"}}), "namespace"),
    ] {
        let error = serde_json::from_value::<Config>(text).expect_err("wrong");
        assert!(error.to_string().contains(word), "{error}");
    }
}

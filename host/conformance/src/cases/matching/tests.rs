//! Answers against expectations: each way in which an answer can miss one is reported.

use serde_json::{Map, json};

use super::super::expect;
use super::*;
use crate::plugin_response::answered;
use witlet_core::admission::Verdict;
use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::plugin::{PollResponse, Snapshot, SourceFault};
use witlet_wasm::plugin::CallError;

fn with(words: &str) -> Text {
    Text { contains: vec![words.to_owned()], ..Text::default() }
}

fn holding(json: Value) -> Text {
    Text { json: Some(json), ..Text::default() }
}

#[test]
fn texts_are_compared_as_the_case_says() {
    let exactly = Text { exact: Some("PONG".to_owned()), ..Text::default() };
    let cases = [
        (Text::default(), "anything", None),
        (exactly.clone(), "PONG", None),
        (exactly, "PONG ", Some("it \"PONG \", where \"PONG\" is expected")),
        (with("docker.io"), "from docker.io", None),
        (with("docker.io"), "quay.io", Some("it \"quay.io\", which doesn't contain \"docker.io\"")),
        (holding(json!({"a": [1]})), r#"{ "a": [1] }"#, None),
        (holding(json!({"a": [1]})), r#"{"a": [2]}"#, Some("it.a[0] is 2, where 1 is expected")),
        (holding(json!({"a": 1})), r#"{"a": 1, "b": 2}"#, Some("it has \"b\": 2, which isn't expected")),
        (holding(json!({"a": 1})), "{}", Some("it has no \"a\", where 1 is expected")),
        (holding(json!({"a": "${ANY}"})), r#"{"a": [7]}"#, None),
        (holding(json!({"a": "${POSITIVE}"})), r#"{"a": 7}"#, None),
        (
            holding(json!({"a": "${POSITIVE}"})),
            r#"{"a": 0}"#,
            Some("it.a is 0, where a number above zero is expected"),
        ),
        (
            holding(json!({"a": "${POSITIVE}"})),
            r#"{"a": "7"}"#,
            Some("it.a is \"7\", where \"${POSITIVE}\" is expected"),
        ),
    ];
    for (expected, got, different) in cases {
        assert_eq!(text("it", &expected, got).as_deref(), different, "{expected:?} {got}");
    }
    assert!(
        text("it", &holding(json!({})), "no JSON")
            .is_some_and(|reported| reported.contains("which is no JSON"))
    );
}

#[test]
fn a_part_may_have_more_around_it() {
    let whole = json!({"metadata": {"name": "web", "labels": {"a": "1"}}, "spec": {"containers": [{"name": "app", "image": "x"}]}});
    let cases = [
        (json!({}), None),
        (json!({"metadata": {"name": "web"}}), None),
        (json!({"spec": {"containers": [{"image": "x"}]}}), None),
        (json!({"metadata": {"name": "db"}}), Some("a.metadata.name is \"web\", where \"db\" is expected")),
        (json!({"status": {}}), Some("a has no \"status\", where {} is expected")),
    ];
    for (part, different) in cases {
        assert_eq!(difference(&part, &whole, "a", Fields::AtLeast).as_deref(), different, "{part}");
    }
}

/// Whether an answer is what a case's `expect` says.
fn fits(forms: &'static [expect::Form], fields: Value, answered: &CallResult) -> bool {
    let fields: Map<String, Value> = fields.as_object().expect("an object").clone();
    let (_, expect) = expect::expect(forms, fields).unwrap_or_else(|problem| panic!("{problem:?}"));
    differs(&expect, answered, &[], "the contract").is_none()
}

fn refused(words: &str) -> CallResult {
    answered::<()>(Err(CallError::Refused { words: words.to_owned() }))
}

fn trap() -> CallResult {
    Err(CallError::Trap { message: "unreachable".to_owned() })
}

#[test]
fn verdicts_are_distinguished() {
    let reject = |reason: &str, message: &str| {
        answered(Ok(Verdict::Reject { reason: reason.to_owned(), message: message.to_owned() }))
    };
    let later = |milliseconds| {
        let (reason, message) = ("TooEarly".to_owned(), "wait".to_owned());
        let retry_after = std::time::Duration::from_millis(milliseconds);
        answered(Ok(Verdict::Defer { reason, message, retry_after }))
    };
    let admit = || answered(Ok(Verdict::Admit));
    let lacks =
        |resource: &str| Shortage { resource: resource.to_owned(), requested: 1, used: 2, capacity: 3 };
    let shortage = || answered(Ok(Verdict::Shortage(vec![lacks("cpu")])));
    let cases = [
        (json!({"verdict": "admit"}), admit(), true),
        (json!({"verdict": "admit"}), reject("No", "x"), false),
        (json!({"verdict": "admit"}), trap(), false),
        (json!({"verdict": "admit"}), refused("no"), false),
        (json!({"verdict": "reject", "reason": "No", "messageContains": "x"}), reject("No", "x y"), true),
        (json!({"verdict": "reject", "reason": "No", "messageContains": "x"}), reject("Not", "x y"), false),
        (json!({"verdict": "reject", "reason": "No", "messageContains": "x"}), reject("No", "y"), false),
        (json!({"verdict": "reject"}), admit(), false),
        (json!({"verdict": "defer"}), later(5), true),
        (json!({"verdict": "defer", "retryAfterMilliseconds": 5}), later(5), true),
        (json!({"verdict": "defer", "retryAfterMilliseconds": 5}), later(6), false),
        (json!({"verdict": "shortage"}), shortage(), true),
        (
            json!({"verdict": "shortage", "resources": [{"resource": "cpu", "requested": 1}]}),
            shortage(),
            true,
        ),
        (
            json!({"verdict": "shortage", "resources": [{"resource": "cpu", "requested": 2}]}),
            shortage(),
            false,
        ),
        (
            json!({"verdict": "shortage", "resources": [{"resource": "cpu"}, {"resource": "memory"}]}),
            shortage(),
            false,
        ),
        (json!({"verdict": "wellFormed"}), admit(), true),
        (json!({"verdict": "wellFormed"}), refused("can't say"), true),
        (json!({"verdict": "wellFormed"}), refused(" "), false),
        (json!({"verdict": "wellFormed"}), reject("No", ""), false),
        (json!({"verdict": "wellFormed"}), trap(), false),
        (json!({"error": "link"}), refused("the link is down"), true),
        (json!({"error": "disk"}), refused("the link is down"), false),
        (json!({"error": "link"}), admit(), false),
        (json!({"validate": "ok"}), answered(Ok(())), true),
        (json!({"validate": "ok"}), refused("no"), false),
        (json!({"validate": "allow"}), refused("allow is empty"), true),
        (json!({"validate": "allow"}), answered(Ok(())), false),
    ];
    for (expected, got, same) in cases {
        assert_eq!(fits(expect::ADMISSION, expected.clone(), &got), same, "{expected} {got:?}");
    }
}

#[test]
fn outcomes_are_distinguished() {
    let success = |detail: &str| answered(Ok(ProbeOutcome::Success(detail.to_owned())));
    let refused_parameters = || Ok(PluginResponse::new(ResponseKind::ParametersRefused, "port is 0"));
    let cases = [
        (json!({"outcome": "success"}), success(""), true),
        (json!({"outcome": "success", "detail": "PONG"}), success("PONG"), true),
        (json!({"outcome": "success", "detail": "PONG"}), success("PANG"), false),
        (json!({"outcome": "failure"}), success(""), false),
        (json!({"outcome": "success"}), trap(), false),
        (json!({"outcome": "wellFormed"}), refused("can't tell"), true),
        (json!({"outcome": "wellFormed"}), trap(), false),
        (json!({"parameters": "port"}), refused_parameters(), true),
        (json!({"parameters": "ok"}), refused_parameters(), false),
        (json!({"parameters": "ok"}), answered(Ok(())), true),
        // An error of the probe isn't one of its parameters.
        (json!({"error": "port"}), refused_parameters(), false),
    ];
    for (expected, got, same) in cases {
        assert_eq!(fits(expect::PROBE, expected.clone(), &got), same, "{expected} {got:?}");
    }
}

#[test]
fn snapshots_and_errors_of_sources_are_distinguished() {
    const WEB: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#;
    const DB: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\n";
    let polled = |snapshot| {
        let next_poll = Some(std::time::Duration::from_secs(2));
        answered(Ok(Ok(PollResponse { snapshot, cursor: Some("c".to_owned()), next_poll })))
    };
    let pods =
        |manifests: &[&str]| polled(Snapshot::Pods(manifests.iter().map(|m| (*m).to_owned()).collect()));
    let away = |reason: &str| {
        let (reason, message) = (reason.to_owned(), "the link is down".to_owned());
        answered(Ok(Err(SourceFault { reason, message, retry_after: None })))
    };
    let empty = || polled(Snapshot::Empty);
    let named = |names: &[&str]| -> Value {
        let pods: Vec<Value> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
        json!({"snapshot": "pods", "pods": pods})
    };
    let cases = [
        (json!({"snapshot": "empty", "cursor": "c", "nextPollMilliseconds": 2000}), empty(), true),
        (json!({"snapshot": "empty", "cursor": "d"}), empty(), false),
        (json!({"snapshot": "empty", "nextPollMilliseconds": 1999}), empty(), false),
        (json!({"snapshot": "empty"}), polled(Snapshot::Unchanged), false),
        (json!({"snapshot": "pods"}), pods(&[WEB]), true),
        (json!({"snapshot": "pods"}), empty(), false),
        (named(&["db", "web"]), pods(&[WEB, DB]), true),
        (named(&["web"]), pods(&[WEB, DB]), false),
        (named(&["web", "web"]), pods(&[WEB, DB]), false),
        (named(&["web"]), pods(&["{"]), false),
        (json!({"snapshot": "wellFormed"}), pods(&[WEB, DB]), true),
        (json!({"snapshot": "wellFormed"}), pods(&[WEB, WEB]), false),
        (json!({"error": "Unavailable", "messageContains": "link"}), away("Unavailable"), true),
        (json!({"error": "Unavailable"}), away("Denied"), false),
        (json!({"error": "Unavailable", "messageContains": "disk"}), away("Unavailable"), false),
        (json!({"error": "Unavailable", "retryAfterMilliseconds": 1}), away("Unavailable"), false),
        (json!({"error": "Unavailable"}), empty(), false),
        (json!({"feedback": "ok"}), answered(Ok(())), true),
        (json!({"feedback": "ok"}), refused("no"), false),
        (json!({"feedback": "web", "messageJson": ["web"]}), refused(r#"["web"]"#), true),
        (json!({"feedback": "web", "messageJson": ["db"]}), refused(r#"["web"]"#), false),
    ];
    for (expected, got, same) in cases {
        assert_eq!(fits(expect::STEP, expected.clone(), &got), same, "{expected} {got:?}");
    }
}

#[test]
fn lines_of_the_log_are_looked_for() {
    let line = |level: &'static str, message: &str| CapturedLine {
        level,
        message: message.to_owned(),
        fields: vec![("language".to_owned(), "rust".to_owned())],
    };
    let got = [line("info", "written at info"), line("warn", "written at warn")];
    let wants = |text: Value| -> LineExpect { serde_json::from_value(text).expect("a line") };
    for (expected, there) in [
        (json!({"messageContains": "written"}), true),
        (json!({"level": "warn", "message": "written at warn"}), true),
        (json!({"level": "error", "messageContains": "written"}), false),
        (json!({"messageContains": "nothing"}), false),
        (json!({"fields": {"language": null}}), true),
        (json!({"fields": {"language": "rust"}}), true),
        (json!({"fields": {"language": "c"}}), false),
        (json!({"fields": {"other": null}}), false),
    ] {
        assert_eq!(logs(&[wants(expected.clone())], &got).is_none(), there, "{expected}");
    }
    let missing = logs(&[wants(json!({"level": "error", "messageContains": "gone"}))], &[]);
    assert_eq!(missing.as_deref(), Some("no line of error \"gone\" in the log; it has nothing"));
}

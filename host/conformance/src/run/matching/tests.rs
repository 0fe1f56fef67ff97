//! Answers against expectations: each way in which an answer can miss one is told.

use std::time::Duration;

use serde_json::json;

use super::*;

fn refused<T>(words: &str) -> Result<T, CallError> {
    Err(CallError::Refused { words: words.to_owned() })
}

fn trap<T>() -> Result<T, CallError> {
    Err(CallError::Trap { message: "unreachable".to_owned() })
}

fn exactly(words: &str) -> Text {
    Text { exact: Some(words.to_owned()), ..Text::default() }
}

fn with(words: &str) -> Text {
    Text { contains: Some(words.to_owned()), ..Text::default() }
}

fn holding(json: Value) -> Text {
    Text { json: Some(json), ..Text::default() }
}

#[test]
fn texts_are_compared_as_the_case_says() {
    let cases = [
        (Text::default(), "anything", None),
        (exactly("PONG"), "PONG", None),
        (exactly("PONG"), "PONG ", Some("it \"PONG \", where \"PONG\" is expected")),
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
    assert!(text("it", &holding(json!({})), "no JSON").is_some_and(|told| told.contains("which is no JSON")));
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
        (
            json!({"spec": {"containers": []}}),
            Some("a.spec.containers is [{\"image\":\"x\",\"name\":\"app\"}], where [] is expected"),
        ),
    ];
    for (part, different) in cases {
        assert_eq!(lacking(&part, &whole, "a").as_deref(), different, "{part}");
    }
}

#[test]
fn verdicts_are_told_apart() {
    let reject = |reason: &str, message: &str| {
        Ok(Verdict::Reject { reason: reason.to_owned(), message: message.to_owned() })
    };
    let defer = |milliseconds| {
        Ok(Verdict::Defer {
            reason: "TooEarly".to_owned(),
            message: "wait".to_owned(),
            retry_after: Duration::from_millis(milliseconds),
        })
    };
    let shortage = |resource: &str, requested| {
        Ok(Verdict::Shortage(vec![Shortage {
            resource: resource.to_owned(),
            requested,
            used: 2,
            capacity: 3,
        }]))
    };
    let wants_reject =
        |reason: &str, message: Text| VerdictExpect::Reject { reason: Some(reason.to_owned()), message };
    let wants_defer = |time| VerdictExpect::Defer {
        reason: None,
        message: Text::default(),
        retry_after_milliseconds: time,
    };
    let wants_shortage = |resources: &[(&str, Option<i64>)]| {
        let expected = |(resource, requested): &(&str, Option<i64>)| ShortageExpect {
            resource: (*resource).to_owned(),
            requested: *requested,
            used: None,
            capacity: None,
        };
        VerdictExpect::Shortage { resources: Some(resources.iter().map(expected).collect()) }
    };
    let cases: Vec<(VerdictExpect, Result<Verdict, CallError>, bool)> = vec![
        (VerdictExpect::Admit, Ok(Verdict::Admit), true),
        (VerdictExpect::Admit, reject("No", "x"), false),
        (VerdictExpect::Admit, trap(), false),
        (VerdictExpect::Admit, refused("no"), false),
        (wants_reject("No", with("x")), reject("No", "x y"), true),
        (wants_reject("No", with("x")), reject("Not", "x y"), false),
        (wants_reject("No", with("x")), reject("No", "y"), false),
        (wants_reject("No", Text::default()), Ok(Verdict::Admit), false),
        (wants_defer(None), defer(5), true),
        (wants_defer(Some(5)), defer(5), true),
        (wants_defer(Some(5)), defer(6), false),
        (wants_defer(None), reject("TooEarly", "wait"), false),
        (VerdictExpect::Shortage { resources: None }, shortage("cpu", 1), true),
        (wants_shortage(&[("cpu", Some(1))]), shortage("cpu", 1), true),
        (wants_shortage(&[("cpu", None)]), shortage("cpu", 7), true),
        (wants_shortage(&[("cpu", Some(2))]), shortage("cpu", 1), false),
        (wants_shortage(&[("cpu", Some(1)), ("memory", None)]), shortage("cpu", 1), false),
        (wants_shortage(&[("memory", None)]), shortage("cpu", 1), false),
        (VerdictExpect::WellFormed, Ok(Verdict::Admit), true),
        (VerdictExpect::WellFormed, refused("can't say"), true),
        (VerdictExpect::WellFormed, refused(" "), false),
        (VerdictExpect::WellFormed, reject("No", ""), false),
        (VerdictExpect::WellFormed, trap(), false),
    ];
    for (expected, got, fits) in cases {
        let different = verdict(&expected, &got);
        assert_eq!(different.is_none(), fits, "{expected:?} {got:?}: {different:?}");
    }
}

#[test]
fn outcomes_are_told_apart() {
    let success = |detail: &str| Ok(ProbeOutcome::Success(detail.to_owned()));
    let cases: Vec<(OutcomeWord, Text, Result<ProbeOutcome, CallError>, bool)> = vec![
        (OutcomeWord::Success, Text::default(), success(""), true),
        (OutcomeWord::Success, exactly("PONG"), success("PONG"), true),
        (OutcomeWord::Success, exactly("PONG"), success("PANG"), false),
        (OutcomeWord::Failure, Text::default(), success(""), false),
        (OutcomeWord::Warning, Text::default(), success(""), false),
        (OutcomeWord::Failure, Text::default(), Ok(ProbeOutcome::Failure("no".to_owned())), true),
        (OutcomeWord::Success, Text::default(), trap(), false),
        (OutcomeWord::WellFormed, Text::default(), success(""), true),
        (OutcomeWord::WellFormed, Text::default(), refused("can't tell"), true),
        (OutcomeWord::WellFormed, Text::default(), trap(), false),
    ];
    for (expected, detail, got, fits) in cases {
        let different = outcome(expected, &detail, &got);
        assert_eq!(different.is_none(), fits, "{expected:?} {got:?}: {different:?}");
    }
}

const WEB: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#;
const DB: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\n";

type Polled = Result<Result<PollAnswer, SourceFault>, CallError>;

fn polled(snapshot: Snapshot) -> Polled {
    Ok(Ok(PollAnswer { snapshot, cursor: Some("c".to_owned()), next_poll: Some(Duration::from_secs(2)) }))
}

#[test]
fn snapshots_are_told_apart() {
    let pods =
        |manifests: &[&str]| polled(Snapshot::Pods(manifests.iter().map(|m| (*m).to_owned()).collect()));
    let named = |names: &[&str]| {
        SnapshotExpect::Pods(Some(names.iter().map(|name| json!({"metadata": {"name": name}})).collect()))
    };
    let cases: Vec<(SnapshotExpect, Polled, bool)> = vec![
        (SnapshotExpect::Empty, polled(Snapshot::Empty), true),
        (SnapshotExpect::Empty, polled(Snapshot::Unchanged), false),
        (SnapshotExpect::Unchanged, polled(Snapshot::Unchanged), true),
        (SnapshotExpect::Unchanged, polled(Snapshot::Empty), false),
        (SnapshotExpect::Pods(None), pods(&[WEB]), true),
        (SnapshotExpect::Pods(None), polled(Snapshot::Empty), false),
        (named(&["db", "web"]), pods(&[WEB, DB]), true),
        (named(&["web"]), pods(&[WEB, DB]), false),
        (named(&["web", "web"]), pods(&[WEB, DB]), false),
        (named(&["web"]), pods(&["{"]), false),
        (SnapshotExpect::WellFormed, pods(&[WEB, DB]), true),
        (SnapshotExpect::WellFormed, pods(&[WEB, WEB]), false),
        (SnapshotExpect::WellFormed, pods(&["[]"]), false),
        (SnapshotExpect::WellFormed, trap(), false),
    ];
    for (expected, got, fits) in cases {
        let different = snapshot(&expected, None, None, &got);
        assert_eq!(different.is_none(), fits, "{expected:?} {got:?}: {different:?}");
    }
    let empty = polled(Snapshot::Empty);
    assert_eq!(snapshot(&SnapshotExpect::Empty, Some("c"), Some(2000), &empty), None);
    assert!(snapshot(&SnapshotExpect::Empty, Some("d"), None, &empty).is_some());
    assert!(snapshot(&SnapshotExpect::Empty, None, Some(1999), &empty).is_some());
}

#[test]
fn errors_of_a_source_are_told_apart() {
    let away = |reason: &str| {
        Ok(Err(SourceFault {
            reason: reason.to_owned(),
            message: "the link is down".to_owned(),
            retry_after: None,
        }))
    };
    assert_eq!(fault(Some("Unavailable"), &with("link"), None, &away("Unavailable")), None);
    assert!(fault(Some("Unavailable"), &with("link"), None, &away("Denied")).is_some());
    assert!(fault(Some("Unavailable"), &with("disk"), None, &away("Unavailable")).is_some());
    assert!(fault(Some("Unavailable"), &with("link"), Some(1), &away("Unavailable")).is_some());
    assert!(fault(None, &Text::default(), None, &polled(Snapshot::Empty)).is_some(), "empty is no error");
    assert!(fault(None, &Text::default(), None, &trap()).is_some());
}

#[test]
fn words_of_validate_and_errors_are_compared() {
    let refuses = |words: &str| ValidateExpect::Refuses(words.to_owned());
    assert_eq!(validate("it", &ValidateExpect::Ok, Ok(())), None);
    assert!(validate("it", &ValidateExpect::Ok, Err("no")).is_some());
    assert_eq!(validate("it", &refuses("allow"), Err("allow is empty")), None);
    assert!(validate("it", &refuses("allow"), Err("no")).is_some());
    assert!(validate("it", &refuses("allow"), Ok(())).is_some());
    let told = || "admit".to_owned();
    assert_eq!(error::<()>("link", &refused("the link is down"), told), None);
    assert!(error::<()>("disk", &refused("the link is down"), told).is_some());
    assert_eq!(error("link", &Ok(()), told).as_deref(), Some("admit"));
    assert_eq!(error::<()>("link", &trap(), told).as_deref(), Some("admit"));
    assert_eq!(feedback(&ValidateExpect::Ok, &Text::default(), &Ok(())), None);
    assert!(feedback(&ValidateExpect::Ok, &Text::default(), &refused("no")).is_some());
    assert_eq!(feedback(&refuses("web"), &holding(json!(["web"])), &refused(r#"["web"]"#)), None);
    assert!(feedback(&refuses("web"), &holding(json!(["db"])), &refused(r#"["web"]"#)).is_some());
    assert!(feedback(&refuses("web"), &Text::default(), &Ok(())).is_some());
}

#[test]
fn lines_of_the_log_are_looked_for() {
    let line = |level: &'static str, message: &str| HeardLine {
        level,
        message: message.to_owned(),
        fields: vec![("language".to_owned(), "rust".to_owned())],
    };
    let wants = |level: Option<&str>, words: &str, fields: &[(&str, Option<&str>)]| LineExpect {
        level: level.map(str::to_owned),
        message: with(words),
        fields: fields.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect(),
    };
    let got = [line("info", "told at info"), line("warn", "told at warn")];
    let cases = [
        (wants(None, "told", &[]), true),
        (wants(Some("warn"), "told at warn", &[]), true),
        (wants(Some("error"), "told", &[]), false),
        (wants(None, "nothing", &[]), false),
        (wants(None, "told", &[("language", None)]), true),
        (wants(None, "told", &[("language", Some("rust"))]), true),
        (wants(None, "told", &[("language", Some("c"))]), false),
        (wants(None, "told", &[("other", None)]), false),
    ];
    for (expected, there) in cases {
        assert_eq!(logs(std::slice::from_ref(&expected), &got).is_none(), there, "{expected:?}");
    }
    let missing = logs(&[wants(Some("error"), "gone", &[])], &[]).expect("there is none");
    assert_eq!(missing, "no line of error \"gone\" in the log; it has nothing");
}

//! Which answers the contract has, which ones are the same, and how they are shown.

use super::*;

fn reject(message: &str) -> CallResult {
    answered(Ok(Verdict::Reject { reason: "No".to_owned(), message: message.to_owned() }))
}

fn failed(error: CallError) -> CallResult {
    answered::<()>(Err(error))
}

fn trap() -> CallResult {
    failed(CallError::Trap { message: "unreachable".to_owned() })
}

fn late() -> CallResult {
    failed(CallError::Timeout { limit: Duration::from_millis(100) })
}

fn refused(words: &str) -> CallResult {
    failed(CallError::Refused { words: words.to_owned() })
}

fn polled(snapshot: Snapshot) -> CallResult {
    answered(Ok(Ok(PollResponse { snapshot, cursor: None, next_poll: None })))
}

fn source_error(message: &str) -> CallResult {
    let (reason, message) = ("Unavailable".to_owned(), message.to_owned());
    answered(Ok(Err(SourceFault { reason, message, retry_after: None })))
}

fn failure_of(detail: &str) -> CallResult {
    answered(Ok(ProbeOutcome::Failure(detail.to_owned())))
}

#[test]
fn answers_are_judged() {
    let long = |bytes: usize| format!("{}…", "x".repeat(bytes));
    let pod = |name: &str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: yaml, namespace: shop}\n".to_owned();
    let pods = |manifests: &[String]| polled(Snapshot::Pods(manifests.to_vec()));
    let cases: Vec<(CallResult, Option<&str>)> = vec![
        (answered(Ok(Verdict::Admit)), None),
        (reject("it may not run"), None),
        (reject(""), Some("an empty message")),
        (reject(&long(MESSAGE_BYTES_MAX)), Some("a message of more than 4096 bytes: xxx")),
        (reject("it goes on…"), None),
        (trap(), Some("it trapped: unreachable")),
        (late(), Some("no answer within 100ms")),
        (failed(CallError::OutOfMemory { limit: 7 }), Some("it exceeded its memory limit of 7 bytes")),
        (refused("I don't know"), None),
        (refused(" "), Some("an error without words")),
        (failed(CallError::Busy), None),
        (failure_of(&long(DETAIL_BYTES_MAX)), Some("a detail of more than 10240 bytes")),
        (failure_of(&long(100)), None),
        (source_error("the folder is gone"), None),
        (source_error(""), Some("an empty message")),
        (pods(&[pod("a"), pod("b"), yaml]), None),
        (pods(&[pod("a"), pod("a")]), Some("the pod default/a twice in one set")),
        (pods(&["{".to_owned()]), Some("a manifest that is neither JSON nor YAML")),
        (pods(&[r#"{"kind":"Pod","metadata":{"name":"a"}}"#.to_owned()]), Some("is no Pod of v1")),
        (pods(&[r#"{"apiVersion":"v1","kind":"Pod","metadata":{}}"#.to_owned()]), Some("has no name")),
        (pods(&[r#"{"apiVersion":"v1","kind":"List","items":[]}"#.to_owned()]), Some("is no Pod of v1")),
    ];
    for (answered, expected) in cases {
        let fault = fault(&answered, "the contract");
        let is_late = matches!(answered, Err(CallError::Timeout { .. }));
        assert_eq!(fault.as_ref().is_some_and(|fault| fault.is_late), is_late, "{answered:?}");
        let seen = fault.map(|fault| fault.seen);
        match expected {
            None => assert_eq!(seen, None, "{answered:?}"),
            Some(words) => {
                assert!(seen.as_ref().is_some_and(|seen| seen.contains(words)), "{answered:?}: {seen:?}")
            }
        }
    }
    assert_eq!(failure(&reject(""), "the contract"), None, "a hostile question's answer may say anything");
}

#[test]
fn answers_are_compared_by_what_they_decide() {
    let cases = [
        (reject("a"), Some("reject No: a"), Some("reject No")),
        (refused("a"), Some("an error: a"), Some("an error")),
        (failure_of("after 3ms"), Some("failure"), Some("failure")),
        (source_error("a"), Some("the error Unavailable: a"), Some("the error Unavailable")),
        (polled(Snapshot::Empty), Some("empty"), Some("empty")),
        (trap(), Some("no answer: it trapped: unreachable"), Some("no answer: it trapped: unreachable")),
        (late(), None, None),
        (failed(CallError::Busy), None, None),
    ];
    for (answered, whole, part) in cases {
        assert_eq!((comparable(&answered).as_deref(), decision(&answered).as_deref()), (whole, part));
    }
}

#[test]
fn sets_are_compared_without_their_order() {
    let pods = |manifests: &[&str]| {
        polled(Snapshot::Pods(manifests.iter().map(|text| (*text).to_owned()).collect()))
    };
    assert_eq!(set(&pods(&["b", "a"])), set(&pods(&["a", "b"])));
    assert_ne!(set(&pods(&["a"])), set(&pods(&["a", "b"])));
    assert_eq!(set(&polled(Snapshot::Empty)), None);
}

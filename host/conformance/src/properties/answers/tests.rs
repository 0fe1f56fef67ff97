//! Which answers the contract has.

use std::time::Duration;

use super::*;

fn reject(message: &str) -> Result<Verdict, CallError> {
    Ok(Verdict::Reject { reason: "No".to_owned(), message: message.to_owned() })
}

fn trap() -> CallError {
    CallError::Trap { message: "unreachable".to_owned() }
}

fn refused(words: &str) -> CallError {
    CallError::Refused { words: words.to_owned() }
}

#[test]
fn verdicts_are_judged() {
    let long = format!("{}…", "x".repeat(MESSAGE_BYTES_MAX));
    let defer = |message: &str| {
        let (reason, message) = ("Later".to_owned(), message.to_owned());
        Ok(Verdict::Defer { reason, message, retry_after: Duration::from_secs(1) })
    };
    let cases: Vec<(Result<Verdict, CallError>, Option<&str>)> = vec![
        (Ok(Verdict::Admit), None),
        (reject("it may not run"), None),
        (reject(""), Some("an empty message")),
        (defer(" "), Some("an empty message")),
        (reject(&long), Some("a message of more than 4096 bytes: xxx")),
        (reject("it goes on…"), None),
        (Err(trap()), Some("it trapped: unreachable")),
        (Err(CallError::Timeout { limit: Duration::from_millis(100) }), Some("no answer within 100ms")),
        (Err(CallError::OutOfMemory { limit: 7 }), Some("it wanted more than 7 bytes of memory")),
        (Err(CallError::BadAnswer { fault: "the reason is empty".to_owned() }), Some("the reason is empty")),
        (Err(refused("I don't know")), None),
        (Err(refused("")), Some("an error without words")),
        (Err(CallError::Busy), None),
    ];
    for (result, expected) in cases {
        let seen = verdict(&result).map(|fault| fault.seen);
        match expected {
            None => assert_eq!(seen, None, "{result:?}"),
            Some(words) => {
                assert!(seen.as_ref().is_some_and(|seen| seen.contains(words)), "{result:?}: {seen:?}")
            }
        }
    }
}

#[test]
fn details_that_the_host_had_to_cut_are_told() {
    let detail = |bytes: usize| Ok(ProbeOutcome::Failure(format!("{}…", "x".repeat(bytes))));
    assert!(outcome(&detail(DETAIL_BYTES_MAX)).is_some());
    assert!(outcome(&detail(100)).is_none());
    assert!(outcome(&Ok(ProbeOutcome::Success(String::new()))).is_none());
    assert!(outcome(&Err(trap())).is_some());
}

#[test]
fn sets_of_pods_are_judged() {
    let pod = |name: &str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: yaml, namespace: shop}\n".to_owned();
    let cases: Vec<(Vec<String>, Option<&str>)> = vec![
        (vec![pod("a"), pod("b"), yaml], None),
        (vec![pod("a"), pod("a")], Some("the pod default/a twice in one set")),
        (vec!["{".to_owned()], Some("a manifest that is neither JSON nor YAML")),
        (vec![r#"{"kind":"Pod","metadata":{"name":"a"}}"#.to_owned()], Some("is no Pod of v1")),
        (vec![r#"{"apiVersion":"v1","kind":"Pod","metadata":{}}"#.to_owned()], Some("has no name")),
        (vec![r#"{"apiVersion":"v1","kind":"List","items":[]}"#.to_owned()], Some("is no Pod of v1")),
    ];
    for (manifests, expected) in cases {
        let snapshot = Snapshot::Pods(manifests);
        let answer = PollAnswer { snapshot, cursor: None, next_poll: None };
        let seen = poll(&Ok(Ok(answer))).map(|fault| fault.seen);
        match expected {
            None => assert_eq!(seen, None),
            Some(words) => {
                assert!(seen.as_ref().is_some_and(|seen| seen.contains(words)), "{words}: {seen:?}")
            }
        }
    }
}

#[test]
fn an_error_of_a_source_has_words() {
    let fault = |message: &str| {
        let (reason, message) = ("Unavailable".to_owned(), message.to_owned());
        Ok(Err(SourceFault { reason, message, retry_after: None }))
    };
    assert!(poll(&fault("the folder is gone")).is_none());
    assert!(poll(&fault("")).is_some());
}

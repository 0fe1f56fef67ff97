//! What is kept of handlers' answers.

use super::super::Shortage;
use super::super::chain::FailureKind;
use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a timestamp")
}

fn verdict(handler: &str, second: i64, response: HandlerResponse) -> HandlerVerdict {
    HandlerVerdict::new(
        handler.into(),
        None,
        (Operation::Add, at(second)),
        &response,
        Duration::from_millis(3),
    )
}

fn admitted(handler: &str, second: i64) -> HandlerVerdict {
    verdict(handler, second, HandlerResponse::Verdict(Verdict::Admit))
}

#[test]
fn each_answer_is_an_outcome_with_its_words() {
    let (reason, message) = ("TooEarly".to_owned(), "not before noon".to_owned());
    let words = |reason: &str, message: &str| (Some(reason.to_owned()), Some(message.to_owned()));
    let defer = Verdict::Defer {
        reason: reason.clone(),
        message: message.clone(),
        retry_after: Duration::from_secs(9),
    };
    let shortage = Shortage { resource: "cpu".to_owned(), requested: 3, used: 2, capacity: 4 };
    let lacking = "Node didn't have enough resource: cpu, requested: 3, used: 2, capacity: 4";
    let failure = HandlerResponse::Failure {
        kind: FailureKind::TimedOut,
        message: "no answer within 100ms".to_owned(),
        policy: FailurePolicy::Admit,
        retry_after: None,
    };
    for (response, outcome, (reason, message), policy) in [
        (HandlerResponse::Verdict(Verdict::Admit), HandlerOutcome::Admitted, (None, None), None),
        (
            HandlerResponse::Verdict(Verdict::Reject { reason, message }),
            HandlerOutcome::Rejected,
            words("TooEarly", "not before noon"),
            None,
        ),
        (
            HandlerResponse::Verdict(defer),
            HandlerOutcome::Deferred,
            words("TooEarly", "not before noon"),
            None,
        ),
        (
            HandlerResponse::Verdict(Verdict::Shortage(vec![shortage.clone(), shortage])),
            HandlerOutcome::Shortage,
            (None, Some(format!("{lacking}; {lacking}"))),
            None,
        ),
        (
            failure,
            HandlerOutcome::Failed,
            words("HandlerTimedOut", "no answer within 100ms"),
            Some(FailurePolicy::Admit),
        ),
    ] {
        let kept = verdict("h", 1, response.clone());
        assert_eq!(
            (kept.outcome, kept.reason, kept.message, kept.policy),
            (outcome, reason, message, policy)
        );
    }
}

#[test]
fn a_verdict_says_which_component_it_is_of() {
    let admit = HandlerResponse::Verdict(Verdict::Admit);
    for (digest, expected) in [
        (None, None),
        (Some("0123"), Some("plugin team, sha256:0123")),
        (Some("0123456789abcdef"), Some("plugin team, sha256:0123456789ab")),
    ] {
        let asked = (Operation::Add, Timestamp::UNIX_EPOCH);
        let verdict =
            HandlerVerdict::new("team".into(), digest.map(Into::into), asked, &admit, Duration::ZERO);
        assert_eq!(verdict.attribution().as_deref(), expected);
    }
}

#[test]
fn what_handlers_say_at_length_is_cut() {
    let long = "x".repeat(5000);
    let kept =
        verdict("h", 1, HandlerResponse::Verdict(Verdict::Reject { reason: long.clone(), message: long }));
    assert!([kept.reason, kept.message].iter().flatten().all(|words| words.len() <= WORDS_BYTES_MAX));
}

#[test]
fn the_newest_verdict_of_each_handler_is_kept() {
    let kept = [admitted("a", 1), admitted("b", 2), admitted("c", 3)];
    let rejected =
        HandlerResponse::Verdict(Verdict::Reject { reason: "No".to_owned(), message: String::new() });
    let all = merged(&kept, vec![admitted("d", 5), verdict("b", 5, rejected)]);
    let shown: Vec<_> = all.iter().map(|v| (&*v.handler, v.asked_at.as_second(), v.outcome)).collect();
    use HandlerOutcome::{Admitted, Rejected};
    let expected = [("d", 5, Admitted), ("b", 5, Rejected), ("c", 3, Admitted), ("a", 1, Admitted)];
    assert_eq!(shown, expected);
}

#[test]
fn beyond_the_bound_those_asked_longest_ago_are_forgotten() {
    let kept: Vec<HandlerVerdict> = (0..100).map(|n| admitted(&format!("old-{n}"), n)).collect();
    let all = merged(&kept, vec![admitted("new", 200)]);
    assert_eq!(all.len(), VERDICTS_MAX);
    assert_eq!((&*all[0].handler, &*all[1].handler), ("new", "old-99"));
}

//! Tests of the fold: tables of answers and what becomes of the pod.

use super::*;
use proptest::prelude::*;

fn reject(reason: &str) -> Answer {
    Answer::Verdict(Verdict::Reject { reason: reason.to_owned(), message: format!("{reason} it is") })
}

fn defer(reason: &str, milliseconds: u64) -> Answer {
    Answer::Verdict(Verdict::Defer {
        reason: reason.to_owned(),
        message: format!("{reason} it is"),
        retry_after: Duration::from_millis(milliseconds),
    })
}

fn short_of(resource: &str) -> Answer {
    let shortage = Shortage { resource: resource.to_owned(), requested: 500, used: 800, capacity: 1000 };
    Answer::Verdict(Verdict::Shortage(vec![shortage]))
}

fn failure(kind: FailureKind, policy: FailurePolicy) -> Answer {
    Answer::Failure { kind, message: "after 100 ms".to_owned(), policy }
}

const ADMIT: Answer = Answer::Verdict(Verdict::Admit);

/// How many handlers were asked, and what came of it.
fn ask(answers: &[Answer]) -> (usize, Decision) {
    let mut chain = Chain::new();
    for (index, answer) in answers.iter().enumerate() {
        match chain.answer(&format!("handler-{index}"), answer.clone()) {
            Next::Continue(next) => chain = next,
            Next::Decided(decision) => return (index + 1, decision),
        }
    }
    (answers.len(), chain.finish())
}

fn word(decision: &Decision) -> String {
    match decision {
        Decision::Admit => "admit".to_owned(),
        Decision::Reject { reason, .. } => format!("reject {reason}"),
        Decision::Defer { reason, .. } => format!("defer {reason}"),
    }
}

#[test]
fn the_first_refusal_decides_and_a_shortage_waits_for_the_rest() {
    let fails = |policy| failure(FailureKind::TimedOut, policy);
    let cases: [(&str, &[Answer], usize, &str); 17] = [
        ("nobody is asked", &[], 0, "admit"),
        ("all admit", &[ADMIT, ADMIT], 2, "admit"),
        ("a reject is final", &[reject("A"), ADMIT], 1, "reject A"),
        ("a defer is final", &[defer("A", 1), reject("B")], 1, "defer A"),
        ("the first refusal wins", &[ADMIT, reject("A"), reject("B")], 2, "reject A"),
        ("a shortage alone rejects", &[short_of("cpu")], 1, "reject OutOfcpu"),
        ("after a shortage the rest is asked", &[short_of("cpu"), ADMIT, ADMIT], 3, "reject OutOfcpu"),
        ("a reject beats an earlier shortage", &[short_of("cpu"), reject("A")], 2, "reject A"),
        ("a defer doesn't lift a shortage", &[short_of("cpu"), defer("A", 1), ADMIT], 3, "reject OutOfcpu"),
        ("a reject after both wins", &[short_of("cpu"), defer("A", 1), reject("B")], 3, "reject B"),
        ("the first shortage counts", &[short_of("pods"), short_of("cpu")], 2, "reject OutOfpods"),
        (
            "a failure that rejects",
            &[fails(FailurePolicy::Reject), ADMIT],
            1,
            "reject UnexpectedAdmissionError",
        ),
        ("a failure that admits", &[fails(FailurePolicy::Admit), ADMIT], 2, "admit"),
        ("a failure that admits, then a reject", &[fails(FailurePolicy::Admit), reject("A")], 2, "reject A"),
        ("a failure that defers", &[fails(FailurePolicy::Defer), ADMIT], 1, "defer HandlerTimedOut"),
        (
            "a failing handler after a shortage",
            &[short_of("cpu"), fails(FailurePolicy::Defer)],
            2,
            "reject OutOfcpu",
        ),
        (
            "a shortage of nothing",
            &[Answer::Verdict(Verdict::Shortage(vec![])), ADMIT],
            1,
            "reject UnexpectedAdmissionError",
        ),
    ];
    for (claim, answers, asked, expected) in cases {
        let (count, decision) = ask(answers);
        assert_eq!((count, word(&decision).as_str()), (asked, expected), "{claim}");
    }
}

#[test]
fn a_shortage_is_told_in_upstreams_words() {
    let (_, decision) = ask(&[short_of("cpu")]);
    let expected = Decision::Reject {
        reason: "OutOfcpu".to_owned(),
        message: "Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000"
            .to_owned(),
    };
    assert_eq!(decision, expected);
}

#[test]
fn a_handlers_words_reach_the_pod_unchanged() {
    let expected = Decision::Reject { reason: "A".to_owned(), message: "A it is".to_owned() };
    assert_eq!(ask(&[reject("A")]).1, expected);
}

#[test]
fn a_failure_names_the_handler_and_how_it_failed() {
    let (_, decision) = ask(&[ADMIT, failure(FailureKind::Trapped, FailurePolicy::Defer)]);
    let expected = Decision::Defer {
        reason: "HandlerTrapped".to_owned(),
        message: "Admission handler handler-1 trapped: after 100 ms".to_owned(),
        retry_after: RETRY_AFTER_FAILURE,
    };
    assert_eq!(decision, expected);
}

#[test]
fn nobody_is_asked_again_before_a_second_or_later_than_an_hour() {
    for (asked, expected) in [(0, 1_000), (999, 1_000), (1_000, 1_000), (5_000, 5_000), (u64::MAX, 3_600_000)]
    {
        let (_, decision) = ask(&[defer("A", asked)]);
        let Decision::Defer { retry_after, .. } = decision else { panic!("a defer defers") };
        assert_eq!(retry_after.as_millis(), expected, "{asked}");
    }
}

#[test]
fn every_kind_of_failure_has_words_of_its_own() {
    let kinds = [
        FailureKind::Trapped,
        FailureKind::TimedOut,
        FailureKind::OutOfMemory,
        FailureKind::BadAnswer,
        FailureKind::Failed,
        FailureKind::NotLoaded,
        FailureKind::Quarantined,
        FailureKind::Host,
    ];
    let words: std::collections::BTreeSet<_> = kinds.map(|kind| (kind.as_str(), kind.to_string())).into();
    assert_eq!(words.len(), kinds.len());
}

#[test]
fn a_failure_policy_is_written_as_in_the_configuration() {
    for (policy, text) in
        [(FailurePolicy::Reject, "Reject"), (FailurePolicy::Admit, "Admit"), (FailurePolicy::Defer, "Defer")]
    {
        assert_eq!(serde_json::to_value(policy).unwrap(), text);
    }
    assert_eq!(FailurePolicy::default(), FailurePolicy::Defer);
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let policy =
        prop_oneof![Just(FailurePolicy::Reject), Just(FailurePolicy::Admit), Just(FailurePolicy::Defer)];
    prop_oneof![
        Just(ADMIT),
        Just(reject("A")),
        (0..u64::MAX).prop_map(|milliseconds| defer("B", milliseconds)),
        Just(short_of("cpu")),
        policy.prop_map(|policy| failure(FailureKind::Failed, policy)),
    ]
}

proptest! {
    #[test]
    fn a_pod_is_admitted_only_if_nobody_refused(answers in prop::collection::vec(any_answer(), 0..8)) {
        let (_, decision) = ask(&answers);
        let refused = answers.iter().any(|answer| match answer {
            Answer::Verdict(verdict) => *verdict != Verdict::Admit,
            Answer::Failure { policy, .. } => *policy != FailurePolicy::Admit,
        });
        prop_assert_eq!(decision == Decision::Admit, !refused);
    }
}

//! What counts as an answer, and what becomes of it.

use super::*;
use crate::worlds::remarks::{ANNOTATIONS_MAX, WARNINGS_MAX};

fn success(text: &str) -> Statement {
    Statement::Success(text.to_owned())
}

fn failure(text: &str) -> Statement {
    Statement::Failure(text.to_owned())
}

fn unknown(text: &str) -> Statement {
    Statement::Unknown(text.to_owned())
}

/// What becomes of these statements and warnings.
fn reply(statements: Vec<Statement>, warnings: &[&str]) -> Reply<ProbeOutcome> {
    let mut sink = ProbeSink::default();
    statements.into_iter().for_each(|statement| sink.say(statement));
    warnings.iter().for_each(|warning| sink.warn(warning));
    sink.finish().0
}

#[test]
fn one_thing_is_said_of_a_probe() {
    let answer = Reply::Answer;
    let cases = [
        (vec![success("ok")], vec![], answer(ProbeOutcome::Success("ok".to_owned()))),
        (vec![success("")], vec![], answer(ProbeOutcome::Success(String::new()))),
        (vec![success("ok")], vec!["old", "slow"], answer(ProbeOutcome::Warning("old; slow; ok".to_owned()))),
        (vec![success("")], vec!["old"], answer(ProbeOutcome::Warning("old".to_owned()))),
        (vec![failure("no")], vec![], answer(ProbeOutcome::Failure("no".to_owned()))),
        (vec![failure("no")], vec!["old"], answer(ProbeOutcome::Failure("no; old".to_owned()))),
        (vec![unknown("who knows")], vec!["old"], Reply::Refusal("who knows".to_owned())),
        (vec![unknown("")], vec![], Reply::Refusal("it isn't known".to_owned())),
        (
            vec![],
            vec!["old"],
            Reply::Malformed("it answered nothing: an answer is one of success, failure, unknown".to_owned()),
        ),
        (
            vec![failure("no"), success("ok")],
            vec![],
            Reply::Malformed("it answered failure, and then success".to_owned()),
        ),
    ];
    for (statements, warnings, expected) in cases {
        assert_eq!(reply(statements, &warnings), expected);
    }
}

#[test]
fn what_is_said_is_bounded() {
    let mut sink = ProbeSink::default();
    for number in 0..WARNINGS_MAX + 2 {
        sink.warn(&format!("warning {number} {}", "w".repeat(TEXT_BYTES_MAX)));
    }
    for number in 0..ANNOTATIONS_MAX + 3 {
        sink.annotate(&format!("key {number:02}"), "value");
    }
    sink.set_latency(Duration::from_millis(7));
    sink.set_latency(Duration::from_millis(8));
    sink.say(failure(&"ä".repeat(TEXT_BYTES_MAX)));
    let (reply, remarks) = sink.finish();
    let Reply::Answer(ProbeOutcome::Failure(text)) = reply else { panic!("{reply:?}") };
    assert!(text.len() <= TEXT_BYTES_MAX + '…'.len_utf8(), "{}", text.len());
    let ProbeRemarks { latency, annotations, left_out } = remarks;
    assert_eq!((latency, annotations.len(), left_out), (Some(Duration::from_millis(8)), ANNOTATIONS_MAX, 5));
}

//! What counts as an answer, and what is kept of it.

use super::*;
use crate::worlds::remarks::{ANNOTATION_KEY_BYTES_MAX, ANNOTATION_VALUE_BYTES_MAX, WARNING_BYTES_MAX};

fn reject(reason: &str) -> Statement {
    Statement::Reject { reason: reason.to_owned(), message: "no".to_owned() }
}

fn shortage(resource: &str) -> Statement {
    let resource = resource.to_owned();
    Statement::Shortages(vec![Shortage { resource, requested: 1, used: 2, capacity: 3 }])
}

fn defer() -> Statement {
    let (reason, message) = ("Later".to_owned(), "not now".to_owned());
    Statement::Defer { reason, message, retry_after: Duration::from_secs(7) }
}

fn said(statements: Vec<Statement>) -> Result<Statement, String> {
    let mut sink = AnswerSink::default();
    for statement in statements {
        sink.say(statement);
    }
    sink.finish().0
}

#[test]
fn one_thing_is_said_of_a_pod() {
    let both = match (shortage("cpu"), shortage("memory")) {
        (Statement::Shortages(first), Statement::Shortages(second)) => {
            Statement::Shortages([first, second].concat())
        }
        other => panic!("{other:?}"),
    };
    let fault = |words: &str| Err(words.to_owned());
    let cases = [
        (vec![Statement::Admit], Ok(Statement::Admit)),
        (vec![reject("No")], Ok(reject("No"))),
        (vec![defer()], Ok(defer())),
        (vec![shortage("cpu"), shortage("memory")], Ok(both)),
        (Vec::new(), fault("it answered nothing: an answer is one of admit, reject, defer, shortage")),
        (vec![Statement::Admit, Statement::Admit], fault("it answered admit, and then admit")),
        (vec![Statement::Admit, reject("No")], fault("it answered admit, and then reject")),
        (vec![shortage("cpu"), defer()], fault("it answered shortage, and then defer")),
        (vec![reject("No"), shortage("cpu"), defer()], fault("it answered reject, and then shortage")),
    ];
    for (statements, expected) in cases {
        assert_eq!(said(statements.clone()), expected, "{statements:?}");
    }
}

#[test]
fn however_many_shortages_there_are_a_few_are_kept() {
    match said(vec![shortage("cpu"); 10_000]) {
        Ok(Statement::Shortages(kept)) => assert_eq!(kept.len(), SHORTAGES_KEPT),
        other => panic!("{other:?}"),
    }
}

#[test]
fn remarks_are_bounded_and_printable() {
    let mut sink = AnswerSink::default();
    for number in 0..20 {
        sink.warn(&format!("warning {number}"));
        sink.annotate(&format!("key {number}"), "value");
    }
    sink.annotate("key 3", "a\nb");
    let (said, remarks) = sink.finish();
    assert!(said.is_err(), "remarks are no answer");
    assert_eq!((remarks.warnings.len(), remarks.annotations.len(), remarks.left_out), (16, 16, 8));
    assert_eq!(remarks.annotations.get("key 3").map(String::as_str), Some("a\\nb"));

    let mut sink = AnswerSink::default();
    sink.warn(&"ä".repeat(WARNING_BYTES_MAX));
    sink.annotate(&"k".repeat(1000), &"v".repeat(10_000));
    let (_, remarks) = sink.finish();
    assert_eq!(remarks.warnings[0].len(), WARNING_BYTES_MAX + '…'.len_utf8());
    let cut: Vec<_> = remarks.annotations.iter().map(|(key, value)| (key.len(), value.len())).collect();
    let end = '…'.len_utf8();
    assert_eq!(cut, [(ANNOTATION_KEY_BYTES_MAX + end, ANNOTATION_VALUE_BYTES_MAX + end)]);
}

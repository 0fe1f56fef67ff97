//! Answers on their way to the host.

use std::time::Duration;

use witlet_core::admission::Shortage;
use witlet_core::pod::resources::Amounts;

use super::*;

fn answered(statements: Vec<Statement>) -> Reply<Verdict> {
    let mut said = AnswerSink::default();
    for statement in statements {
        said.say(statement);
    }
    answer(said).reply
}

fn reject(reason: &str) -> Statement {
    Statement::Reject { reason: reason.to_owned(), message: "two\nlines".to_owned() }
}

fn lacking(resource: &str) -> Shortage {
    Shortage { resource: resource.to_owned(), requested: 1, used: 2, capacity: 3 }
}

#[test]
fn what_is_said_becomes_a_verdict() {
    let rejected = |reason: &str| {
        let message = "two\\nlines".to_owned();
        Verdict::Reject { reason: reason.to_owned(), message }
    };
    let (reason, message) = ("Later".to_owned(), "later".to_owned());
    let retry_after = Duration::from_millis(7);
    let deferred = Verdict::Defer { reason: reason.clone(), message: message.clone(), retry_after };
    let sanitized = |answer: Verdict, fault: &str| Reply::Sanitized { answer, fault: fault.to_owned() };
    let cases = [
        (vec![Statement::Admit], Reply::Answer(Verdict::Admit)),
        (vec![reject("No")], Reply::Answer(rejected("No"))),
        (
            vec![reject("not a word")],
            sanitized(rejected("NotAWord"), "the reason \"not a word\" isn't a CamelCase word"),
        ),
        (vec![Statement::Defer { reason, message, retry_after }], Reply::Answer(deferred)),
        (
            vec![Statement::Shortages(vec![lacking("cpu")]), Statement::Shortages(vec![lacking("memory")])],
            Reply::Answer(Verdict::Shortage(vec![lacking("cpu"), lacking("memory")])),
        ),
        (
            vec![Statement::Shortages(vec![lacking("")])],
            sanitized(Verdict::Shortage(vec![lacking("resource")]), "a shortage names no resource"),
        ),
        (
            vec![Statement::Shortages(vec![lacking("cpu")]); 70],
            Reply::Malformed("65 shortages are more than 64".to_owned()),
        ),
        (
            vec![Statement::Admit, reject("No")],
            Reply::Malformed("it answered admit, and then reject".to_owned()),
        ),
    ];
    for (statements, expected) in cases {
        assert_eq!(answered(statements.clone()), expected, "{statements:?}");
    }
}

#[test]
fn an_error_takes_the_place_of_what_was_said() {
    let mut failed = GuestError::new("NoTable", "it can't be read");
    failed.retry_after = Some(Duration::from_secs(30));
    let Answered { reply, remarks } = error(&failed);
    assert_eq!(reply, Reply::Refusal("NoTable: it can't be read".to_owned()));
    assert_eq!(remarks, Remarks { retry_after: Some(Duration::from_secs(30)), ..Remarks::default() });
}

#[test]
fn names_of_several_maps_are_sorted_and_come_once() {
    let amounts = |names: &[&str]| -> Amounts { names.iter().map(|name| ((*name).to_owned(), 1)).collect() };
    let maps = [amounts(&["memory", "cpu"]), amounts(&["pods", "cpu"])];
    assert_eq!(names(maps.iter().flat_map(Amounts::keys)), ["cpu", "memory", "pods"]);
}

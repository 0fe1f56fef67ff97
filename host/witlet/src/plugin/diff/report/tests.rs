//! What people see of two versions.

use expect_test::expect;

use super::*;

fn figures(source: &str, times: &[u64]) -> SideFigures {
    let times = times.iter().map(|micros| Duration::from_micros(*micros)).collect();
    let named = (source.to_owned(), "0123456789abcdef".to_owned());
    SideFigures::new(named, times, Duration::from_millis(12), 0, 1_179_648)
}

fn reject(reason: &str, message: &str) -> RecordedResponse {
    RecordedResponse::Reject { reason: reason.to_owned(), message: message.to_owned() }
}

fn between(a: &RecordedResponse, b: &RecordedResponse) -> Option<Difference> {
    let subject = Subject { pod: "default/web".to_owned(), operation: "add" };
    Difference::between(("1.json".to_owned(), "images", subject), a, b)
}

#[test]
fn a_difference_is_of_the_verdict_or_of_what_stands_next_to_it() {
    let failed = |outcome: &str, message: &str| RecordedResponse::Failed {
        outcome: outcome.to_owned(),
        message: message.to_owned(),
    };
    let defer = |milliseconds| RecordedResponse::Defer {
        reason: "Later".to_owned(),
        message: "not now".to_owned(),
        retry_after_milliseconds: milliseconds,
    };
    let short =
        |amount: &str| RecordedResponse::Shortage { resources: vec![format!("cpu: requested {amount}")] };
    let (verdict, message) = (Some(DifferenceKind::Verdict), Some(DifferenceKind::Message));
    let cases = [
        (RecordedResponse::Admit, RecordedResponse::Admit, None),
        (reject("A", "a"), reject("A", "a"), None),
        (failed("timed_out", "after 1s"), failed("timed_out", "after 2s"), None),
        (RecordedResponse::Admit, reject("A", "a"), verdict),
        (reject("A", "a"), reject("B", "a"), verdict),
        (reject("Later", "not now"), defer(1), verdict),
        (failed("trapped", "a"), failed("timed_out", "a"), verdict),
        (RecordedResponse::Admit, failed("trapped", "a"), verdict),
        (reject("A", "a"), reject("A", "b"), message),
        (defer(1), defer(2), message),
        (short("1"), short("2"), message),
    ];
    for (a, b, expected) in cases {
        assert_eq!(between(&a, &b).map(|difference| difference.kind), expected, "{a:?} and {b:?}");
    }
}

#[test]
fn people_see_each_difference_and_nothing_reaches_their_terminal() {
    let differences = [
        between(&reject("A", "a\u{1b}[31m\nb"), &RecordedResponse::Admit),
        between(&reject("A", "a"), &reject("A", "b")),
    ];
    let comparison = Comparison {
        a: figures("old.wasm", &[100, 200, 300]),
        b: figures("new.wasm", &[900]),
        requests: 5,
        differences: differences.into_iter().flatten().collect(),
        skipped: vec![SkippedRecording { recording: "2.json".to_owned(), problem: "it is empty".to_owned() }],
    };
    assert!(!comparison.is_same());
    expect![[r#"
        default/web (add), 1.json
          a  reject A: a�[31m b
          b  admit
        default/web (add), 1.json
          a  reject A: a
          b  reject A: b
        skipped 2.json: it is empty

        5 requests: 3 same, 1 with another verdict, 1 with another message; 1 skipped

            DIGEST         ERRORS   P50     P99     CPU      MEMORY   SOURCE
        a   0123456789ab   0        200µs   300µs   12.0ms   1.1Mi    old.wasm
        b   0123456789ab   0        900µs   900µs   12.0ms   1.1Mi    new.wasm
    "#]]
    .assert_eq(&comparison.for_people());
}

#[test]
fn two_versions_that_agree_are_one_line_and_their_figures() {
    let comparison = Comparison {
        a: figures("old.wasm", &[100]),
        b: figures("new.wasm", &[100]),
        requests: 1,
        differences: Vec::new(),
        skipped: Vec::new(),
    };
    assert!(comparison.is_same());
    let text = comparison.for_people();
    assert!(
        text.starts_with("1 request: 1 same, 0 with another verdict, 0 with another message\n\n"),
        "{text}"
    );
}

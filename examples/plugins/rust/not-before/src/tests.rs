//! Tests of the handler on whole requests.

use std::time::Duration;

use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Datetime, Error, Verdict};

use super::{NotBefore, REASON};

/// 2026-01-01T00:00:00Z
const SEEN_SECONDS: i64 = 1_767_225_600;

fn ask(annotations: &[(&str, &str)], now: Datetime) -> Result<Verdict, Error> {
    let annotations =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let facts =
        RequestFacts { now, pod: PodFacts { annotations, ..PodFacts::default() }, ..RequestFacts::default() };
    NotBefore::admit(&facts.request(), &())
}

fn after(seconds: i64, nanoseconds: u32) -> Datetime {
    Datetime { seconds: SEEN_SECONDS + seconds, nanoseconds }
}

const ANNOTATIONS: [(&str, &str); 2] =
    [("example.witlet.dev/not-before-seconds", "10"), ("kubernetes.io/config.seen", "2026-01-01T00:00:00Z")];

#[test]
fn a_pod_is_deferred_for_what_is_left_and_then_admitted() {
    let deferred = |milliseconds| {
        Verdict::defer(
            REASON,
            "the pod waits until 2026-01-01T00:00:10Z",
            Duration::from_millis(milliseconds),
        )
    };
    assert_eq!(ask(&ANNOTATIONS, after(0, 0)).expect("a verdict"), deferred(10_000));
    assert_eq!(ask(&ANNOTATIONS, after(9, 500_000_000)).expect("a verdict"), deferred(500));
    assert_eq!(ask(&ANNOTATIONS, after(10, 0)).expect("a verdict"), Verdict::Admit);
    assert_eq!(ask(&ANNOTATIONS, after(99, 0)).expect("a verdict"), Verdict::Admit);
}

#[test]
fn a_pod_without_the_annotation_does_not_wait() {
    assert_eq!(ask(&ANNOTATIONS[1..], after(0, 0)).expect("a verdict"), Verdict::Admit);
}

#[test]
fn a_pod_whose_arrival_is_unknown_is_not_judged() {
    assert!(ask(&ANNOTATIONS[..1], after(0, 0)).is_err());
}

#[test]
fn a_request_at_an_impossible_time_is_not_judged() {
    for now in
        [Datetime { seconds: i64::MAX, nanoseconds: 0 }, Datetime { seconds: 0, nanoseconds: u32::MAX }]
    {
        assert!(ask(&ANNOTATIONS, now).is_err(), "{now:?}");
    }
}

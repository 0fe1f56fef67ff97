//! What counts as a difference, and what is kept and reported of them.

use super::*;

fn reject(reason: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: "words of the node".to_owned(), handler: None }
}

fn says(reason: &str) -> Verdict {
    Verdict::Reject { reason: reason.to_owned(), message: "words of the shadow".to_owned() }
}

fn defers(reason: &str) -> Verdict {
    Verdict::Defer { reason: reason.to_owned(), message: String::new(), retry_after: Duration::from_secs(1) }
}

fn short_of(resource: &str) -> Verdict {
    let resource = resource.to_owned();
    Verdict::Shortage(vec![Shortage { resource, requested: 2, used: 0, capacity: 1 }])
}

#[test]
fn verdicts_agree_when_the_pod_ends_the_same_for_the_same_reason() {
    let preempt = Decision::Preempt { victims: Vec::new(), resource: String::new(), message: String::new() };
    let defer = Decision::Defer {
        reason: "NotNow".to_owned(),
        message: String::new(),
        retry_after: Duration::from_secs(9),
    };
    let cases = [
        (Verdict::Admit, Decision::Admit, true),
        (Verdict::Admit, reject("A"), false),
        (Verdict::Admit, defer.clone(), false),
        (Verdict::Admit, preempt.clone(), false),
        (says("A"), reject("A"), true),
        (says("A"), reject("B"), false),
        (says("A"), Decision::Admit, false),
        (says("NotNow"), defer.clone(), false),
        (defers("NotNow"), defer.clone(), true),
        (defers("Later"), defer.clone(), false),
        (defers("A"), reject("A"), false),
        (short_of("cpu"), reject("OutOfcpu"), true),
        (short_of("cpu"), reject("OutOfmemory"), false),
        (short_of("cpu"), preempt, true),
        (short_of("cpu"), Decision::Admit, false),
        (short_of("cpu"), defer, false),
    ];
    for (verdict, decision, expected) in cases {
        assert_eq!(agrees(&verdict, &decision), expected, "{verdict:?} and {decision:?}");
    }
}

#[test]
fn two_handlers_agree_when_they_mean_the_same_for_the_pod() {
    let several = |resources: [&str; 2]| {
        let all = resources.map(|resource| match short_of(resource) {
            Verdict::Shortage(shortages) => shortages,
            Verdict::Admit | Verdict::Reject { .. } | Verdict::Defer { .. } => Vec::new(),
        });
        Verdict::Shortage(all.concat())
    };
    let kinds = [Verdict::Admit, says("A"), defers("A"), short_of("cpu")];
    for (at, one) in kinds.iter().enumerate() {
        for (other_at, other) in kinds.iter().enumerate() {
            assert_eq!(agrees_with(one, other), at == other_at, "{one:?} and {other:?}");
        }
    }
    let cases = [
        (says("A"), says("B"), false),
        (defers("A"), defers("B"), false),
        (short_of("cpu"), short_of("memory"), false),
        (short_of("cpu"), several(["cpu", "memory"]), false),
        (several(["memory", "cpu"]), several(["cpu", "memory"]), true),
    ];
    for (one, other, expected) in cases {
        assert_eq!(agrees_with(&one, &other), expected, "{one:?} and {other:?}");
    }
}

fn difference(number: u64) -> Difference {
    Difference {
        pod: format!("default/{number}"),
        uid: number.to_string(),
        time: String::new(),
        verdict: verdict_summary(&says("NotNeeded")),
        decision: decision_summary(&Decision::Admit),
    }
}

#[test]
fn the_newest_differences_are_kept() {
    let mut shadow = Shadow::default();
    let now = Instant::now();
    for number in 0..40 {
        shadow.differed(difference(number), "the node decided", now);
    }
    let report = shadow.report();
    assert_eq!((report.differed, report.differences.len()), (40, DIFFERENCES_MAX));
    assert_eq!(report.differences[0].pod, "default/8");
    assert_eq!(report.differences[31].pod, "default/39");
}

#[test]
fn events_about_differences_are_rare_and_say_how_many_there_were() {
    let mut shadow = Shadow::default();
    let start = Instant::now();
    let events: Vec<String> = (0..100)
        .filter_map(|second| {
            shadow.differed(difference(second), "the node decided", start + Duration::from_secs(second))
        })
        .collect();
    assert_eq!(
        events,
        [
            "of pod default/0 it says reject NotNeeded: words of the shadow, but the node decided admit",
            "of pod default/60 it says reject NotNeeded: words of the shadow, but the node decided admit \
             (59 more since the last event)",
        ]
    );
}

#[test]
fn long_messages_are_cut_between_letters() {
    let verdict = Verdict::Reject { reason: "A".to_owned(), message: "ö".repeat(4000) };
    let reported = verdict_summary(&verdict);
    assert!(reported.len() <= MESSAGE_BYTES_MAX && reported.ends_with('ö'), "{}", reported.len());
}

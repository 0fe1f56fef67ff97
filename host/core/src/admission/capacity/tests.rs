//! Decisions next to pods that end for others.

use expect_test::{Expect, expect};

use super::*;

const IDLE: FreedCapacity =
    FreedCapacity { another_waits: false, pods_end: false, victims_left: 0, victims_ending: 0 };

fn preempting(victims: Vec<PodUid>) -> Decision {
    Decision::Preempt { victims, resource: "cpu".to_owned(), message: "words".to_owned() }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Admit => "admit",
        Decision::Reject { .. } => "reject",
        Decision::Preempt { .. } => "preempt",
        Decision::Defer { reason, message, retry_after } => {
            assert!(reason != REASON || (message == "words" && *retry_after == ASK_AGAIN_AFTER));
            if reason == REASON { "wait" } else { "defer" }
        }
    }
}

#[test]
fn no_pod_is_refused_and_capacity_is_freed_for_one_at_a_time() {
    let message = || "words".to_owned();
    let admit = Decision::Admit;
    let reject = Decision::Reject { reason: "OutOfcpu".to_owned(), message: message(), handler: None };
    let defer =
        Decision::Defer { reason: "Later".to_owned(), message: message(), retry_after: Duration::ZERO };
    let preempt = preempting(vec![PodUid::from("v")]);
    let pods_end = FreedCapacity { pods_end: true, ..IDLE };
    let another = FreedCapacity { another_waits: true, ..IDLE };
    let victims = |freed: FreedCapacity, victims_left, victims_ending| FreedCapacity {
        victims_left,
        victims_ending,
        ..freed
    };
    let cases = [
        ("nothing is going on", &admit, IDLE, "admit"),
        ("nothing is going on", &reject, IDLE, "reject"),
        ("nothing is going on", &defer, IDLE, "defer"),
        ("there is capacity next to all", &admit, pods_end, "admit"),
        ("there is capacity next to all", &admit, another, "admit"),
        ("it may fit once they are gone", &reject, pods_end, "wait"),
        ("it may fit once it is known who stays", &reject, another, "wait"),
        ("the handler's wish stands", &defer, pods_end, "defer"),
        ("they can be ended", &preempt, victims(IDLE, 2, 0), "preempt"),
        ("some of them end by themselves", &preempt, victims(IDLE, 2, 1), "preempt"),
        ("they have gone meanwhile", &preempt, victims(IDLE, 0, 0), "wait"),
        ("its own victims still end", &preempt, victims(pods_end, 2, 2), "preempt"),
        ("more than those that end", &preempt, victims(pods_end, 2, 1), "wait"),
        ("another pod's turn", &preempt, victims(another, 2, 0), "wait"),
        (
            "another pod's victims",
            &preempt,
            FreedCapacity { another_waits: true, ..victims(pods_end, 1, 1) },
            "wait",
        ),
    ];
    for (why, decision, freed, expected) in cases {
        assert_eq!(word(&settled(decision.clone(), freed)), expected, "{why}: {decision:?} {freed:?}");
    }
}

/// Pods by name, with a letter for each fact: counts, waits, preempted, ending.
const PODS: &[(&str, &str)] =
    &[("app", "c"), ("ended", ""), ("ending", "ce"), ("me", ""), ("preempted", "cp"), ("waits", "w")];

fn facts(letters: &str) -> PodFacts {
    PodFacts {
        counts: letters.contains('c'),
        waits_for_capacity: letters.contains('w'),
        is_preempted: letters.contains('p'),
        is_ending: letters.contains('e'),
    }
}

/// The pod `me` is to preempt these victims, among these pods of [`PODS`].
fn check(pods: &str, victims: &str, expected: Expect) {
    let names = |text: &str| text.split_whitespace().map(PodUid::from).collect::<Vec<_>>();
    let present: Vec<(PodUid, PodFacts)> =
        names(pods).into_iter().map(|uid| (uid.clone(), facts(letters_of(&uid)))).collect();
    let all = || present.iter().map(|(uid, facts)| (uid, *facts));
    let (me, victims) = (PodUid::from("me"), names(victims));
    let decision = preempting(victims.clone());
    let Preemption { ends, outdates_verdicts } = preempt(&me, &victims, all());
    let ends: Vec<&str> = ends.iter().map(PodUid::as_str).collect();
    expected.assert_eq(&format!(
        "{}; ends [{}], outdates verdicts: {outdates_verdicts}; a refusal: {}",
        word(&settle(&me, decision, all())),
        ends.join(" "),
        word(&settle(
            &me,
            Decision::Reject { reason: "OutOfcpu".to_owned(), message: "words".to_owned(), handler: None },
            all()
        )),
    ));
}

fn letters_of(uid: &PodUid) -> &'static str {
    PODS.iter().find(|(name, _)| *name == uid.as_str()).map_or("", |(_, letters)| *letters)
}

#[test]
fn victims_that_run_are_ended_unless_another_pod_gets_capacity_freed() {
    check("me app", "app", expect!["preempt; ends [app], outdates verdicts: true; a refusal: reject"]);
    check(
        "me app ending",
        "app ending",
        expect!["preempt; ends [app], outdates verdicts: true; a refusal: reject"],
    );
    check("me ended", "ended gone", expect!["wait; ends [], outdates verdicts: true; a refusal: reject"]);
    check("me app preempted", "app", expect!["wait; ends [app], outdates verdicts: true; a refusal: wait"]);
    check("me preempted", "preempted", expect!["preempt; ends [], outdates verdicts: true; a refusal: wait"]);
    check("me app waits", "app", expect!["wait; ends [app], outdates verdicts: true; a refusal: wait"]);
}

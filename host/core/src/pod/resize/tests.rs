//! A wish through its considerations and the handlers' decisions.

use expect_test::{Expect, expect};

use super::*;
use crate::fixtures::{at, pod, resources, spec};

const SMALL: &str = "cpu 100m/200m memory 100Mi/200Mi";
const LARGE: &str = "cpu 300m/400m memory 100Mi/200Mi";

/// What happens to a wish.
enum Event {
    /// The pod asks for these resources, at this time in seconds.
    Considered(&'static str, i64),
    /// The same, of a pod that ends.
    Ending(&'static str),
    /// The handlers' decision about the larger resources.
    Decided(Decision),
}
use Event::{Considered, Decided, Ending};

/// A pod that was allocated the smaller resources.
fn asking(text: &str) -> Pod {
    let mut made = pod("Always", &["a"]);
    made.metadata.generation = Some(1);
    spec(&mut made).containers[0].resources = resources(text);
    made
}

fn word(effect: &Effect) -> String {
    match effect {
        Effect::Ask(precedence) => {
            let same = |since| {
                let (pod, allocation) = (asking(LARGE), Allocation::of(&asking(SMALL)));
                *precedence == super::precedence(&PendingResize { pod: &pod, allocation: &allocation, since })
            };
            let since = (0..10).find(|seconds| same(at(*seconds))).expect("a time of the test");
            format!("ask, waiting since {since}")
        }
        Effect::StopAsking => "stop asking".to_owned(),
        Effect::Allocate(allocation) => {
            assert_eq!(*allocation, Allocation::of(&asking(LARGE)));
            "allocate".to_owned()
        }
        Effect::Warn { reason, message } => {
            format!("{reason}: {}", message.split(':').next().unwrap_or_default())
        }
        Effect::Sync => "sync".to_owned(),
    }
}

fn check(events: Vec<Event>, expected: Expect) {
    let allocation = Allocation::of(&asking(SMALL));
    let node = NodePolicy { cpu_milli: Some(1_000), memory_bytes: Some(1 << 30), ..NodePolicy::default() };
    let mut resize = Resize::default();
    let mut lines = String::new();
    for event in events {
        let mut consider = |text: &str, is_ending, seconds| {
            let (pod, now) = (asking(text), at(seconds));
            resize.consider(ResizeFacts { pod: &pod, allocation: &allocation, node, is_ending, now })
        };
        let effects = match event {
            Considered(text, seconds) => consider(text, false, seconds),
            Ending(text) => consider(text, true, 9),
            Decided(decision) => resize.decided(&asking(LARGE), decision),
        };
        let pending = resize.pending().map(|pending| format!("{:?}: {}", pending.reason, pending.message));
        let words: Vec<String> = effects.iter().map(word).collect();
        let words = if words.is_empty() { "-".to_owned() } else { words.join(", ") };
        lines += &format!("{words} | {}\n", pending.as_deref().unwrap_or("-"));
    }
    expected.assert_eq(&lines);
}

fn reject(reason: &str, message: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: message.to_owned(), handler: None }
}

#[test]
fn a_granted_wish_is_allocated() {
    check(
        vec![Considered(SMALL, 0), Considered(LARGE, 1), Decided(Decision::Admit)],
        expect![[r#"
        stop asking | -
        ask, waiting since 1 | -
        allocate | -
    "#]],
    );
}

#[test]
fn a_deferred_wish_waits_since_it_was_first_asked_about() {
    check(
        vec![
            Considered(LARGE, 1),
            Decided(reject("OutOfcpu", "no capacity")),
            Decided(reject("OutOfcpu", "no capacity")),
            Decided(reject("OutOfcpu", "still no capacity")),
            Considered(LARGE, 5),
            Decided(Decision::Admit),
        ],
        expect![[r#"
            ask, waiting since 1 | -
            ResizeDeferred: Pod resize OutOfcpu, sync | Deferred: no capacity
            - | Deferred: no capacity
            sync | Deferred: still no capacity
            ask, waiting since 1 | Deferred: still no capacity
            allocate | -
        "#]],
    );
}

#[test]
fn an_infeasible_wish_is_not_asked_about_until_it_changes() {
    check(
        vec![
            Considered("cpu 2/3 memory 100Mi/200Mi", 1),
            Considered("cpu 2/3 memory 100Mi/200Mi", 2),
            Considered(LARGE, 3),
            Decided(reject("Infeasible", "not here")),
            Considered(SMALL, 4),
        ],
        expect![[r#"
            stop asking, ResizeInfeasible: Pod resize Infeasible, sync | Infeasible: Node didn't have enough capacity: cpu, requested: 2000, capacity: 1000
            stop asking | Infeasible: Node didn't have enough capacity: cpu, requested: 2000, capacity: 1000
            ask, waiting since 3 | Infeasible: Node didn't have enough capacity: cpu, requested: 2000, capacity: 1000
            stop asking, sync | Infeasible: not here
            stop asking, sync | -
        "#]],
    );
}

#[test]
fn a_wish_that_is_taken_back_or_whose_pod_ends_waits_no_more() {
    let deferred = || Decided(reject("OutOfcpu", "no capacity"));
    check(
        vec![Considered(LARGE, 1), deferred(), Considered(SMALL, 2)],
        expect![[r#"
        ask, waiting since 1 | -
        ResizeDeferred: Pod resize OutOfcpu, sync | Deferred: no capacity
        stop asking, sync | -
    "#]],
    );
    check(
        vec![Considered(LARGE, 1), deferred(), Ending(LARGE)],
        expect![[r#"
        ask, waiting since 1 | -
        ResizeDeferred: Pod resize OutOfcpu, sync | Deferred: no capacity
        stop asking, sync | -
    "#]],
    );
}

#[test]
fn the_queue_asks_again_about_a_wish_that_is_not_infeasible() {
    let again = |decision| queued(&asking(LARGE), decision);
    assert_eq!(again(Decision::Admit), Decision::Admit);
    let infeasible = reject("Infeasible", "not here");
    assert_eq!(again(infeasible.clone()), infeasible);
    let deferred = |retry_after| Decision::Defer {
        reason: "OutOfcpu".to_owned(),
        message: "no capacity".to_owned(),
        retry_after,
    };
    assert_eq!(again(reject("OutOfcpu", "no capacity")), deferred(ASK_AGAIN_AFTER));
    assert_eq!(again(deferred(Duration::from_secs(7))), deferred(Duration::from_secs(7)));
}

//! Tables of when pods are asked about again, and of how many are ended.

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn minutes(minutes: f64) -> Duration {
    MINUTE.mul_f64(minutes)
}

fn uids(count: usize) -> Vec<PodUid> {
    (0..count).map(|number| PodUid::from(format!("u{number}").as_str())).collect()
}

/// A chance for each pod that is asked for, in their order.
fn spread(count: usize) -> impl FnMut() -> f64 {
    let mut next = 0;
    move || {
        next += 1;
        f64::from(u32::try_from(next).unwrap_or(u32::MAX)) / count as f64
    }
}

/// One handler that is asked this often.
fn one(every: Duration) -> RecheckIntervals {
    [("one".into(), every)].into()
}

/// A node with so many pods whose times are spread over the second half of ten minutes: ten are half a minute apart, from 5.5 on.
fn running(count: usize) -> (Rechecks, Vec<PodUid>) {
    let (mut rechecks, pods) = (Rechecks::default(), uids(count));
    rechecks.set_handlers(one(minutes(10.0)));
    let none = rechecks.take_due(&pods.iter().collect(), 100, Duration::ZERO, spread(count));
    assert!(none.is_empty(), "no pod is asked about when it begins: {none:?}");
    (rechecks, pods)
}

fn take(rechecks: &mut Rechecks, pods: &[PodUid], capacity: usize, at: Duration) -> Vec<String> {
    let taken = rechecks.take_due(&pods.iter().collect(), capacity, at, || 0.5);
    taken.iter().map(ToString::to_string).collect()
}

#[test]
fn each_pod_is_asked_about_once_an_interval_at_a_time_of_its_own() {
    let (mut rechecks, pods) = running(10);
    for round in [0.0, 10.0, 20.0] {
        for minute in 0..10_u8 {
            let at = minutes(round + f64::from(minute) / 2.0 + 5.5);
            assert_eq!(take(&mut rechecks, &pods, 100, at), [format!("u{minute}")], "{at:?}");
            assert!(take(&mut rechecks, &pods, 100, at).is_empty());
        }
    }
}

#[test]
fn without_an_interval_nothing_is_asked_and_bounds_hold() {
    let (mut off, pods) = (Rechecks::default(), uids(3));
    assert!(take(&mut off, &pods, 100, minutes(100.0)).is_empty() && !off.is_on());
    assert!(!off.may_end(None, 100, Duration::ZERO));
    let (mut rechecks, pods) = running(3);
    rechecks.set_handlers(one(Duration::from_secs(1)));
    assert!(take(&mut rechecks, &pods, 100, Duration::ZERO).is_empty(), "another interval begins again");
    assert!(take(&mut rechecks, &pods, 100, minutes(0.7)).is_empty());
    assert_eq!(
        take(&mut rechecks, &pods, 100, minutes(0.75)).len(),
        3,
        "a second is too short: it is a minute"
    );
    assert!(take(&mut rechecks, &pods, 100, minutes(1.7)).is_empty());
    rechecks.set_handlers(RecheckIntervals::new());
    assert!(take(&mut rechecks, &pods, 100, minutes(9.0)).is_empty());
}

#[test]
fn what_is_left_over_comes_next_and_pods_that_are_gone_are_forgotten() {
    let (mut rechecks, pods) = running(10);
    assert_eq!(take(&mut rechecks, &pods, 2, minutes(7.5)), ["u0", "u1"]);
    assert_eq!(take(&mut rechecks, &pods[3..], 2, minutes(7.5)), ["u3", "u4"]);
    assert!(take(&mut rechecks, &pods[3..], 0, minutes(8.0)).is_empty());
    assert_eq!(take(&mut rechecks, &pods[3..], 9, minutes(8.0)), ["u5"]);
    assert_eq!(rechecks.pods.len(), 7);
    // Those that came back have another time.
    assert!(take(&mut rechecks, &pods, 9, minutes(8.0)).is_empty());
}

#[test]
fn a_change_has_all_asked_about_within_a_minute_but_none_twice_in_one() {
    let (mut rechecks, pods) = running(10);
    assert_eq!(take(&mut rechecks, &pods, 9, minutes(5.5)), ["u0"]);
    rechecks.ask_soon(minutes(5.6), spread(10));
    assert_eq!(take(&mut rechecks, &pods, 100, minutes(6.05)).len(), 3, "u1 to u3, by the change");
    let soon = take(&mut rechecks, &pods, 100, minutes(6.6));
    assert_eq!(soon.len(), 7, "all, with the first one, whose minute is over: {soon:?}");
    rechecks.ask_soon(minutes(6.7), || 0.0);
    assert!(take(&mut rechecks, &pods, 100, minutes(7.0)).is_empty());
    assert_eq!(take(&mut rechecks, &pods, 100, minutes(7.6)).len(), 10);
}

#[test]
fn what_becomes_known_at_the_start_is_no_change() {
    for (at, is_asked) in [(0.0, false), (1.9, false), (2.0, true)] {
        let (mut rechecks, pods) = running(10);
        rechecks.ask_soon(minutes(at), || 0.0);
        assert_eq!(!take(&mut rechecks, &pods, 100, minutes(3.0)).is_empty(), is_asked, "{at}");
    }
}

fn node(node: Value, facts: &[(&str, &str)]) -> NodeFacts {
    let node: Node = serde_json::from_value(node).expect("a node");
    let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    NodeFacts { node, facts, ..NodeFacts::default() }
}

#[test]
fn the_node_counts_as_changed_by_what_policies_are_about() {
    let plain = || json!({"metadata": {"labels": {"a": "b"}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let with = |path: &str, value: Value| {
        let mut node = plain();
        *node.pointer_mut(path).expect("it is there") = value;
        node
    };
    let tainted = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
    let mut spec = plain();
    spec["spec"] = tainted;
    let facts = [("cgroup.version", "2"), ("fs.nodefs.available", "7")];
    let cases = [
        ("nothing", plain(), facts, false),
        ("free space", plain(), [facts[0], ("fs.nodefs.available", "6")], false),
        (
            "a condition's message",
            with("/status/conditions/0", json!({"type": "Ready", "status": "True", "message": "m"})),
            facts,
            false,
        ),
        ("a condition", with("/status/conditions/0/status", json!("False")), facts, true),
        ("a label", with("/metadata/labels/a", json!("c")), facts, true),
        ("a taint", spec, facts, true),
        ("a fact", plain(), [("cgroup.version", "1"), facts[1]], true),
    ];
    for (what, changed, changed_facts, is_asked) in cases {
        let (mut rechecks, pods) = running(10);
        rechecks.node_changed(&node(plain(), &facts), minutes(3.0), || 0.0);
        rechecks.node_changed(&node(changed, &changed_facts), minutes(3.0), || 0.0);
        assert_eq!(!take(&mut rechecks, &pods, 100, minutes(3.0)).is_empty(), is_asked, "{what}");
    }
}

#[test]
fn one_pod_in_ten_is_ended_in_an_interval_and_one_at_least() {
    for (running, ends) in [(1, 1), (9, 1), (10, 1), (11, 2), (50, 5), (110, 11)] {
        let mut rechecks = Rechecks::default();
        rechecks.set_handlers(one(minutes(10.0)));
        let ended = (0..running).filter(|_| rechecks.may_end(Some("one"), running, minutes(1.0))).count();
        assert_eq!(ended, ends, "of {running}");
        assert!(!rechecks.may_end(Some("one"), running, minutes(10.9)));
        assert!(rechecks.may_end(Some("one"), running, minutes(11.0)));
        // Another interval doesn't begin a new count: a longer one has what was ended before.
        rechecks.set_handlers(one(minutes(20.0)));
        assert!(!rechecks.may_end(Some("one"), running, minutes(20.9)), "of {running}");
        assert!(rechecks.may_end(Some("one"), running, minutes(31.0)), "of {running}");
    }
}

#[test]
fn only_a_rejection_ends_a_pod() {
    let (reason, message) = ("No".to_owned(), "never".to_owned());
    let defer = Decision::Defer { reason: reason.clone(), message: message.clone(), retry_after: MINUTE };
    let preempt = Decision::Preempt { victims: uids(1), resource: String::new(), message: message.clone() };
    for decision in [Decision::Admit, defer, preempt] {
        assert_eq!(rejection(&decision), None);
    }
    assert_eq!(rejection(&Decision::Reject { reason, message, handler: None }), Some(("No", "never")));
}

/// The pods that are asked about, each with the handlers that are.
fn asked(rechecks: &mut Rechecks, pods: &[PodUid], at: f64) -> Vec<String> {
    let due = rechecks.take_due(&pods.iter().collect(), 100, minutes(at), || 0.5);
    let asked = due.iter().map(|uid| {
        let handlers: Vec<String> = rechecks.take_waiting(uid).iter().map(ToString::to_string).collect();
        format!("{uid}: {}", handlers.join(" "))
    });
    asked.collect()
}

#[test]
fn each_handler_is_asked_in_its_own_interval_and_those_that_are_due_together_at_once() {
    let (mut rechecks, pods) = (Rechecks::default(), uids(1));
    let handlers = |rarely: f64| -> RecheckIntervals {
        [("often".into(), minutes(10.0)), ("rarely".into(), minutes(rarely))].into()
    };
    rechecks.set_handlers(handlers(30.0));
    assert!(asked(&mut rechecks, &pods, 0.0).is_empty());
    // The first time after three quarters, by this chance.
    let times = [(7.4, ""), (7.5, "often"), (17.5, "often"), (22.4, ""), (22.5, "rarely"), (27.5, "often")];
    for (at, expected) in times {
        let expected = Some(expected).filter(|handlers| !handlers.is_empty());
        let expected: Vec<String> = expected.map(|handlers| format!("u0: {handlers}")).into_iter().collect();
        assert_eq!(asked(&mut rechecks, &pods, at), expected, "{at}");
    }
    assert_eq!(asked(&mut rechecks, &pods, 60.0), ["u0: often rarely"], "what is late is asked once");
    // Another interval of one is none of the other's business.
    rechecks.set_handlers(handlers(60.0));
    assert!(asked(&mut rechecks, &pods, 60.0).is_empty());
    assert_eq!(asked(&mut rechecks, &pods, 70.0), ["u0: often"]);
    assert_eq!(asked(&mut rechecks, &pods, 105.0), ["u0: often rarely"]);
    rechecks.set_handlers(one(minutes(10.0)));
    assert!(asked(&mut rechecks, &pods, 106.0).is_empty(), "one that is gone isn't asked");
}

#[test]
fn two_questions_about_a_pod_are_a_minute_apart_whatever_the_handlers_want() {
    let (mut rechecks, pods) = (Rechecks::default(), uids(1));
    rechecks.set_handlers([("a".into(), minutes(10.0)), ("b".into(), minutes(10.4))].into());
    assert!(asked(&mut rechecks, &pods, 0.0).is_empty());
    assert_eq!(asked(&mut rechecks, &pods, 7.5), ["u0: a"]);
    assert!(asked(&mut rechecks, &pods, 7.9).is_empty(), "b is due, but it was asked about a moment ago");
    assert_eq!(asked(&mut rechecks, &pods, 8.5), ["u0: b"]);
}

#[test]
fn handlers_that_become_due_while_a_pod_waits_for_its_turn_are_asked_with_the_others() {
    let (mut rechecks, pods) = (Rechecks::default(), uids(1));
    rechecks.set_handlers([("a".into(), minutes(10.0)), ("b".into(), minutes(20.0))].into());
    let running = || pods.iter().collect();
    assert!(rechecks.take_due(&running(), 1, Duration::ZERO, || 0.5).is_empty());
    assert_eq!(rechecks.take_due(&running(), 1, minutes(7.5), || 0.5).len(), 1);
    assert_eq!(rechecks.take_due(&running(), 1, minutes(15.0), || 0.5).len(), 1);
    let waiting: Vec<String> = rechecks.take_waiting(&pods[0]).iter().map(ToString::to_string).collect();
    assert_eq!(waiting, ["a", "b"]);
    assert!(rechecks.take_waiting(&pods[0]).is_empty(), "they are asked once");
}

#[test]
fn what_one_handler_ended_counts_for_all_within_their_own_intervals() {
    let mut rechecks = Rechecks::default();
    rechecks.set_handlers([("often".into(), minutes(10.0)), ("rarely".into(), minutes(60.0))].into());
    assert!(rechecks.may_end(Some("often"), 10, minutes(1.0)));
    assert!(!rechecks.may_end(Some("rarely"), 10, minutes(2.0)));
    assert!(rechecks.may_end(Some("often"), 10, minutes(11.0)));
    assert!(!rechecks.may_end(Some("rarely"), 10, minutes(61.0)), "one was ended within its hour");
    assert!(!rechecks.may_end(None, 10, minutes(61.0)));
    assert!(rechecks.may_end(Some("rarely"), 10, minutes(71.0)));
}

#[test]
fn what_was_ended_before_the_start_counts_until_it_is_as_old() {
    let start = |ages: &[f64]| {
        let mut rechecks = Rechecks::default();
        rechecks.restore_ends(ages.iter().map(|age| minutes(*age)).collect());
        rechecks
    };
    assert!(start(&[]).may_end_readmitted(20, Duration::ZERO));
    let mut again = start(&[9.0, 1.0]);
    assert!(!again.may_end_readmitted(20, minutes(0.9)), "two of twenty were ended in ten minutes");
    assert!(again.may_end_readmitted(20, minutes(1.0)), "the older one is over");
    assert!(!again.may_end_readmitted(20, minutes(8.9)));
    assert!(again.may_end_readmitted(20, minutes(9.0)));
    let mut daily = start(&[23.0 * 60.0, 30.0 * 60.0]);
    assert!(daily.may_end_readmitted(1, Duration::ZERO), "that is an end more, and forgets none");
    daily.set_handlers(one(INTERVAL_MAX));
    assert!(!daily.may_end(Some("one"), 20, minutes(59.0)), "two of twenty in a day");
    assert!(daily.may_end(Some("one"), 20, minutes(60.0)));
}

#[test]
fn what_is_ended_after_a_start_counts_too() {
    let mut none = Rechecks::default();
    assert!(none.may_end_readmitted(20, Duration::ZERO) && none.may_end_readmitted(20, minutes(1.0)));
    assert!(!none.may_end_readmitted(20, minutes(9.9)), "two of twenty were ended in ten minutes");
    assert!(none.may_end_readmitted(20, minutes(10.0)));
    let mut rechecks = Rechecks::default();
    rechecks.set_handlers(one(minutes(60.0)));
    assert!(rechecks.may_end_readmitted(1, Duration::ZERO));
    assert!(!rechecks.may_end(Some("one"), 1, minutes(59.9)));
    assert!(rechecks.may_end(Some("one"), 1, minutes(60.0)));
}

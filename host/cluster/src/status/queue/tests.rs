//! Tests of writes_begun: who comes when, one write of a pod at a time, and what a server in trouble changes.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;

fn report(uid: &str) -> PodReport {
    let metadata = ObjectMeta { uid: Some(uid.to_owned()), ..ObjectMeta::default() };
    let pod = Arc::new(Pod { metadata, ..Pod::default() });
    PodReport { pod, status: None, may_run: true, is_finished: false, is_ending: false }
}

fn object(uid: &str, version: u64) -> Object {
    Object { uid: uid.to_owned(), resource_version: version.to_string() }
}

fn patched(uid: &str, version: u64) -> End {
    End::Patched(object(uid, version), Memory::default())
}

fn writes_begun(queue: &mut StatusQueue, now: Instant) -> Vec<Done> {
    std::iter::from_fn(|| queue.take_due(now)).map(|in_flight| done(&in_flight, now)).collect()
}

fn done(in_flight: &InFlightWrite, began: Instant) -> Done {
    Done { in_flight: in_flight.number, uid: in_flight.uid.clone(), version: in_flight.version, began }
}

fn uids(writes_begun: &[Done]) -> Vec<&str> {
    writes_begun.iter().map(|in_flight| in_flight.uid.as_str()).collect()
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn of_a_pod_one_write_is_under_way_and_the_newest_report_follows() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    queue.report(report("a"), t0);
    let first = writes_begun(&mut queue, t0);
    assert_eq!(uids(&first), ["a"], "at once");
    queue.report(report("a"), t0 + 10 * MS);
    queue.report(report("a"), t0 + 20 * MS);
    assert!(writes_begun(&mut queue, t0 + 30 * MS).is_empty(), "the first is under way");
    queue.end(&first[0], patched("a", 1), t0 + 40 * MS);
    assert_eq!(queue.next_due(), Some(t0 + PATCH_GAP));
    let second = writes_begun(&mut queue, t0 + PATCH_GAP);
    assert_eq!((uids(&second), second[0].version), (vec!["a"], 2));
    queue.end(&second[0], patched("a", 2), t0 + PATCH_GAP);
    assert_eq!(queue.next_due(), None, "nothing is left to tell");
}

#[test]
fn many_write_at_the_same_time_but_not_all() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    for n in 0..WRITES_MAX + 5 {
        queue.report(report(&n.to_string()), t0);
    }
    let begun = writes_begun(&mut queue, t0);
    assert_eq!(begun.len(), WRITES_MAX);
    assert_eq!(queue.next_due(), None);
    queue.end(&begun[0], End::Idle(None), t0);
    assert_eq!(writes_begun(&mut queue, t0).len(), 1);
}

#[test]
fn a_server_in_trouble_is_tried_by_one_at_a_time() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    for uid in ["a", "b", "c"] {
        queue.report(report(uid), t0);
    }
    let begun = writes_begun(&mut queue, t0);
    let t1 = t0 + MS;
    for (n, in_flight) in begun.iter().enumerate() {
        let is_new = queue.pause(in_flight.began, t1, |failures| 1_000 * MS * failures);
        assert_eq!(is_new, n == 0, "what failed together counts once");
        queue.end(in_flight, End::Troubled, t1);
    }
    assert_eq!(queue.next_due(), Some(t1 + 1_000 * MS));
    let t2 = t1 + 1_000 * MS;
    let trial = writes_begun(&mut queue, t2);
    assert_eq!(trial.len(), 1);
    assert!(!queue.pause(trial[0].began, t2, |failures| 1_000 * MS * failures));
    queue.end(&trial[0], End::Troubled, t2);
    assert_eq!(queue.next_due(), Some(t2 + 2_000 * MS));
    let t3 = t2 + 2_000 * MS;
    let next = writes_begun(&mut queue, t3);
    assert_ne!(uids(&next), uids(&trial), "another one tries");
    queue.end(&next[0], End::Failed(t3 + 1_000 * MS), t3);
    assert_eq!(writes_begun(&mut queue, t3).len(), 2, "it answers, whatever it says");
}

#[test]
fn a_write_that_failed_waits_for_its_back_off_whatever_is_reported() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    queue.report(report("a"), t0);
    let in_flight = writes_begun(&mut queue, t0);
    queue.end(&in_flight[0], End::Failed(t0 + 500 * MS), t0);
    queue.report(report("a"), t0 + MS);
    queue.reconsider(|_| Some(object("a", 9)), t0 + MS);
    assert_eq!(queue.next_due(), Some(t0 + 500 * MS));
    assert_eq!(queue.failures(&PodUid::from("a")), 1);
}

#[test]
fn what_was_settled_is_checked_again_when_the_server_has_something_newer() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    queue.report(report("a"), t0);
    let in_flight = writes_begun(&mut queue, t0);
    queue.end(&in_flight[0], patched("a", 5), t0);
    let t1 = t0 + 1_000 * MS;
    let mut inspections = |newest: Option<Object>| {
        queue.reconsider(|_| newest.clone(), t1);
        let writes_begun = writes_begun(&mut queue, t1);
        for in_flight in &writes_begun {
            queue.end(in_flight, End::Idle(Some(object("a", 5))), t1);
        }
        writes_begun.len()
    };
    let cases = [
        (None, 0),
        (Some(object("a", 4)), 0),
        (Some(object("a", 5)), 0),
        (Some(object("a", 6)), 1),
        (Some(object("another", 1)), 1),
    ];
    for (newest, expected) in cases {
        assert_eq!(inspections(newest.clone()), expected, "{newest:?}");
    }
}

#[test]
fn without_news_an_object_that_should_be_gone_is_checked_again_much_later() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    queue.report(report("a"), t0);
    let in_flight = writes_begun(&mut queue, t0);
    queue.end(&in_flight[0], End::AwaitNews(Some(object("a", 5))), t0);
    assert_eq!(queue.next_due(), Some(t0 + NEWS_WAIT_MAX));
    queue.reconsider(|_| Some(object("a", 6)), t0 + 10 * MS);
    assert_eq!(queue.next_due(), Some(t0 + 10 * MS), "here they are");
}

#[test]
fn a_pod_that_was_forgotten_has_no_turn_and_a_new_one_is_not_ended_by_the_olds() {
    let (mut queue, t0) = (StatusQueue::default(), Instant::now());
    let a = PodUid::from("a");
    queue.report(report("a"), t0);
    queue.forget(&a);
    assert_eq!(queue.next_due(), None);
    queue.report(report("a"), t0);
    let old = writes_begun(&mut queue, t0);
    queue.forget(&a);
    queue.report(report("a"), t0);
    let new = writes_begun(&mut queue, t0);
    queue.end(&old[0], End::AwaitNews(None), t0);
    assert_eq!(queue.next_due(), None, "the new one's in_flight goes on");
    queue.end(&new[0], End::Failed(t0 + MS), t0);
    assert_eq!(queue.next_due(), Some(t0 + MS));
}

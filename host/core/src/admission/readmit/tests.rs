//! Tables of which handlers are asked about which pods after a start.

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn names(names: &[&str]) -> HandlerNames {
    names.iter().map(|name| Arc::from(*name)).collect()
}

fn uid(name: &str) -> PodUid {
    PodUid::from(name)
}

/// Pods `a`, `b` and `c` ran before the start.
fn started() -> Readmissions {
    let mut all = Readmissions::default();
    for name in ["a", "b", "c"] {
        all.add(&uid(name));
    }
    all
}

/// The pods that are asked about, each with the handlers.
fn take(all: &mut Readmissions, running: &[&str], capacity: usize, at: u64) -> Vec<String> {
    let running: Vec<PodUid> = running.iter().map(|name| uid(name)).collect();
    let due = all.take_due(&running.iter().collect(), capacity, seconds(at));
    let asked = due.iter().map(|uid| {
        let waiting = all.take_waiting(uid);
        format!("{uid}: {}", waiting.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "))
    });
    asked.collect()
}

const ALL: [&str; 3] = ["a", "b", "c"];

#[test]
fn each_handler_is_asked_about_each_pod_once() {
    let mut all = started();
    assert!(take(&mut all, &ALL, 9, 1).is_empty(), "no handler wants it");
    all.set_handlers(names(&["one"]), seconds(1));
    assert_eq!(take(&mut all, &ALL, 2, 1), ["a: one", "b: one"]);
    all.set_handlers(names(&["one", "two"]), seconds(2));
    assert_eq!(take(&mut all, &ALL, 9, 2), ["a: two", "b: two", "c: one two"]);
    assert!(take(&mut all, &ALL, 9, 3).is_empty());
    // One that is loaded again asked already.
    all.set_handlers(names(&[]), seconds(4));
    all.set_handlers(names(&["one", "two"]), seconds(5));
    assert!(take(&mut all, &ALL, 9, 5).is_empty());
}

#[test]
fn a_handler_that_comes_late_has_no_part_in_the_start() {
    let mut all = started();
    all.set_handlers(names(&["one"]), LOADED_WITHIN);
    assert_eq!(take(&mut all, &ALL, 1, 600), ["a: one"]);
    all.set_handlers(names(&["one", "late"]), LOADED_WITHIN + seconds(1));
    assert_eq!(take(&mut all, &ALL, 9, 601), ["b: one", "c: one"]);
    all.ask_again(&uid("b"), seconds(700));
    assert_eq!(take(&mut all, &ALL, 9, 700), ["b: one"]);
}

#[test]
fn only_pods_that_ran_and_still_run_are_asked_about() {
    let mut all = started();
    all.set_handlers(names(&["one"]), seconds(1));
    assert_eq!(take(&mut all, &["b", "new"], 9, 1), ["b: one"]);
    assert!(take(&mut all, &ALL, 9, 2).is_empty(), "what ended and comes again is another matter");
}

#[test]
fn what_has_to_be_asked_again_waits_its_time() {
    let mut all = started();
    all.set_handlers(names(&["one", "two"]), seconds(1));
    assert_eq!(take(&mut all, &["a"], 9, 1), ["a: one two"]);
    all.ask_again(&uid("a"), seconds(30));
    assert!(take(&mut all, &["a"], 9, 29).is_empty());
    assert_eq!(take(&mut all, &["a"], 9, 30), ["a: one two"]);
    all.ask_again(&uid("gone"), seconds(30));
    assert!(take(&mut all, &["a", "gone"], 9, 60).is_empty());
}

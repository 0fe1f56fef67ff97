//! Tests of the admission queue: a small interpreter of scripts, and the log that each must give.

use proptest::prelude::*;
use witlet_core::admission::Decision::{self, Admit};

use super::*;

const WAIT_FOR_ANSWER: Duration = Duration::from_millis(20);

struct QueueRig {
    queue: AdmissionQueue,
    start: Instant,
    ms: u64,
    admissions: u64,
    asked: HashMap<String, AskId>,
}

impl QueueRig {
    fn new() -> Self {
        let queue = AdmissionQueue::default();
        Self { queue, start: Instant::now(), ms: 0, admissions: 0, asked: HashMap::new() }
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.ms)
    }

    fn add(&mut self, name: &str, created: i64) {
        let created = Timestamp::from_second(created).expect("a small number of seconds is a timestamp");
        self.queue.add(&PodUid::from(name), Some(created));
    }

    /// The pods that are asked for now, then when to come back.
    fn next(&mut self) -> String {
        let mut words = Vec::new();
        loop {
            match self.queue.next(self.now(), self.admissions, WAIT_FOR_ANSWER) {
                Next::Ask(id, question) => {
                    words.push(question.uid.to_string());
                    self.asked.insert(question.uid.to_string(), id);
                }
                Next::Publish(uid, rejection) => words.push(format!("{uid} fails: {}", rejection.reason)),
                Next::Wait(at) => {
                    words.push(format!("until {}", (at - self.start).as_millis()));
                    return words.join(" ");
                }
                Next::Idle => {
                    words.push("idle".into());
                    return words.join(" ");
                }
            }
        }
    }

    /// The handlers reject the pod, which is to be published at this time.
    fn hold(&mut self, name: &str, due_ms: u64) -> bool {
        let rejection = HeldRejection { reason: "No".to_owned(), message: String::new() };
        let due = self.start + Duration::from_millis(due_ms);
        self.queue.hold(self.asked[name], rejection, self.now(), due)
    }

    fn answer(&mut self, name: &str, decision: Decision) -> bool {
        let id = self.asked[name];
        let admits = decision == Admit;
        let stands = matches!(
            self.queue.answer(id, decision, self.now(), self.admissions),
            Judged::Stands(question, _) if question.uid.as_str() == name
        );
        if stands && admits {
            self.admissions += 1;
        }
        stands
    }
}

fn defer(ms: u64) -> Decision {
    let retry_after = Duration::from_millis(ms);
    Decision::Defer { reason: "Later".into(), message: String::new(), retry_after }
}

fn reject() -> Decision {
    Decision::Reject { reason: "No".into(), message: String::new(), handler: None }
}

#[tokio::test(start_paused = true)]
async fn pods_are_judged_one_at_a_time_in_the_order_of_their_creation() {
    let mut rig = QueueRig::new();
    rig.add("young", 30);
    rig.add("old", 10);
    rig.add("middle", 20);
    for name in ["old", "middle", "young"] {
        assert_eq!(
            rig.next(),
            if name == "young" { "young idle".into() } else { format!("{name} until 20") }
        );
        assert!(rig.answer(name, Admit));
    }
    assert_eq!(rig.next(), "idle");
    assert_eq!(rig.queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn pods_that_run_are_asked_about_last_and_their_answers_count_whatever_is_admitted_meanwhile() {
    let mut rig = QueueRig::new();
    for name in ["runs", "other"] {
        rig.queue.add_recheck(&PodUid::from(name));
    }
    rig.add("new", 10);
    assert_eq!(rig.queue.asked_of(Operation::Recheck), 2);
    assert_eq!(rig.next(), "new until 20");
    rig.ms = 20;
    assert_eq!(rig.next(), "runs until 40");
    assert!(rig.answer("new", Admit));
    rig.ms = 40;
    assert_eq!(rig.next(), "other idle");
    assert!(rig.answer("runs", Admit));
    rig.queue.handlers_changed();
    assert!(!rig.answer("other", reject()), "those that rejected it are there no more");
    assert_eq!((rig.next().as_str(), rig.queue.asked_of(Operation::Recheck)), ("idle", 0));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_holds_up_the_next_pod_for_no_longer_than_the_timeout() {
    let mut rig = QueueRig::new();
    for (name, created) in [("slow", 1), ("b", 2), ("c", 3)] {
        rig.add(name, created);
    }
    assert_eq!(rig.next(), "slow until 20");
    rig.ms = 20;
    assert_eq!(rig.next(), "b until 40");
    assert!(rig.answer("b", Admit));
    assert_eq!(rig.next(), "c idle", "the slow one was waited for once");
    assert!(rig.answer("c", Admit));
}

#[tokio::test(start_paused = true)]
async fn an_admit_that_was_overtaken_is_asked_again_and_then_no_pod_overtakes() {
    let mut rig = QueueRig::new();
    for (name, created) in [("slow", 1), ("b", 2), ("c", 3), ("d", 4)] {
        rig.add(name, created);
    }
    rig.next();
    rig.ms = 20;
    rig.next();
    rig.ms = 40;
    rig.next();
    assert!(rig.answer("b", Admit));
    assert!(!rig.answer("slow", Admit), "b was admitted meanwhile");
    assert_eq!(rig.next(), "slow idle", "asked again at once, and no pod next to it");
    assert!(!rig.answer("c", Admit), "c must not be admitted before it");
    rig.ms = 200;
    assert_eq!(rig.next(), "idle");
    assert!(rig.answer("slow", Admit));
    assert_eq!(rig.next(), "c idle");
    assert!(rig.answer("c", Admit));
    assert_eq!(rig.next(), "d idle");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_stands_whatever_was_admitted_meanwhile() {
    for refusal in [reject(), defer(5000)] {
        let mut rig = QueueRig::new();
        rig.add("slow", 1);
        rig.add("b", 2);
        rig.next();
        rig.ms = 20;
        rig.next();
        assert!(rig.answer("b", Admit));
        assert!(rig.answer("slow", refusal));
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_pod_leaves_the_queue_and_its_answer_is_dropped() {
    let mut rig = QueueRig::new();
    for (name, created) in [("a", 1), ("b", 2), ("c", 3)] {
        rig.add(name, created);
    }
    assert_eq!(rig.next(), "a until 20");
    rig.queue.remove(&PodUid::from("a"));
    rig.queue.remove(&PodUid::from("b"));
    assert_eq!(rig.next(), "c idle");
    assert!(!rig.answer("a", Admit));
    assert!(rig.answer("c", Admit));
}

#[tokio::test(start_paused = true)]
async fn a_deferred_pod_holds_up_no_one_and_is_asked_again_when_it_wished() {
    let mut rig = QueueRig::new();
    rig.add("a", 1);
    rig.add("b", 2);
    rig.next();
    assert!(rig.answer("a", defer(5000)));
    assert_eq!((rig.queue.len(), rig.queue.deferred()), (1, 1));
    assert_eq!(rig.next(), "b until 5000");
    assert!(rig.answer("b", Admit));
    rig.ms = 5000;
    assert_eq!(rig.next(), "a idle");
    assert!(rig.answer("a", Admit));
}

#[tokio::test(start_paused = true)]
async fn a_deferred_pod_is_asked_again_when_the_world_changes_but_not_within_a_second() {
    let cases = [
        ("short wish", 1, None, 1000),
        ("a change right away", 60_000, Some(10), 1000),
        ("a change later", 60_000, Some(30_000), 1000),
        ("no change", 60_000, None, 60_000),
    ];
    for (name, wish, changed, expected) in cases {
        let mut rig = QueueRig::new();
        rig.add("a", 1);
        rig.next();
        assert!(rig.answer("a", defer(wish)), "{name}");
        if let Some(ms) = changed {
            rig.ms = ms;
            rig.queue.world_changed();
        }
        let next = rig.next();
        if changed.is_some_and(|ms| ms >= 1000) {
            assert_eq!(next, "a idle", "{name}");
        } else {
            assert_eq!(next, format!("until {expected}"), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_while_a_pod_is_asked_for_isnt_lost_on_it() {
    for (changes, expected) in [(false, "until 60000"), (true, "until 1000")] {
        let mut rig = QueueRig::new();
        rig.add("a", 1);
        rig.next();
        if changes {
            rig.queue.world_changed();
        }
        assert!(rig.answer("a", defer(60_000)));
        assert_eq!(rig.next(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn others_are_ended_for_a_pod_only_in_the_world_that_it_was_asked_for_in() {
    let preempt = || Decision::Preempt {
        victims: vec![PodUid::from("victim")],
        resource: "cpu".to_owned(),
        message: String::new(),
    };
    let mut rig = QueueRig::new();
    rig.add("a", 1);
    rig.add("b", 2);
    rig.next();
    rig.queue.world_changed();
    assert!(!rig.answer("a", preempt()), "there may be capacity by now");
    assert_eq!(rig.next(), "a idle", "asked again at once, and no pod next to it");
    assert!(rig.answer("a", preempt()));
    assert_eq!(rig.next(), "b until 10000", "it waits, and is asked again when that changes");
    rig.ms = 2_000;
    rig.queue.world_changed();
    rig.ms = 2_020;
    assert_eq!(rig.next(), "a idle");
    assert!(rig.answer("b", Admit));
    assert!(!rig.answer("a", preempt()), "b was admitted meanwhile");
}

#[tokio::test(start_paused = true)]
async fn no_more_pods_are_asked_for_at_once_than_the_bound_allows() {
    let mut rig = QueueRig::new();
    for n in 0..ADMISSIONS_MAX + 5 {
        rig.add(&format!("p{n}"), i64::try_from(n).expect("small"));
    }
    for _ in 0..100 {
        rig.next();
        rig.ms += 20;
    }
    assert_eq!(rig.asked.len(), ADMISSIONS_MAX);
    assert!(rig.answer("p3", reject()));
    rig.next();
    assert_eq!(rig.asked.len(), ADMISSIONS_MAX + 1);
}

#[tokio::test(start_paused = true)]
async fn rejections_wait_until_their_time_and_hold_up_no_pod() {
    let mut rig = QueueRig::new();
    for (name, created) in [("a", 1), ("b", 2), ("c", 3)] {
        rig.add(name, created);
    }
    rig.next();
    assert!(rig.hold("a", 5000));
    assert_eq!(rig.next(), "b until 20");
    assert!(rig.hold("b", 3000));
    assert_eq!((rig.queue.len(), rig.queue.deferred(), rig.queue.held()), (1, 0, 2));
    assert_eq!(rig.next(), "c until 3000");
    assert!(rig.answer("c", Admit));
    rig.ms = 2000;
    rig.queue.world_changed();
    assert_eq!(rig.next(), "until 3000", "a rejection is final");
    rig.ms = 6000;
    assert_eq!(rig.next(), "b fails: No a fails: No idle", "the longest due first");
    assert_eq!(rig.queue.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_rejection_waits_is_asked_for_again_when_the_handlers_change_but_not_within_a_second() {
    let cases = [("right away", 10, "until 1000"), ("later", 30_000, "a idle")];
    for (what, changed_ms, expected) in cases {
        let mut rig = QueueRig::new();
        rig.add("a", 1);
        rig.next();
        assert!(rig.hold("a", 60_000), "{what}");
        rig.ms = changed_ms;
        rig.queue.handlers_changed();
        assert_eq!(rig.next(), expected, "{what}");
    }
    let mut rig = QueueRig::new();
    rig.add("a", 1);
    rig.next();
    rig.queue.handlers_changed();
    assert!(rig.hold("a", 60_000), "by the handlers before the change");
    assert_eq!((rig.next(), rig.queue.held()), ("until 1000".to_owned(), 0));
    let mut rig = QueueRig::new();
    rig.add("a", 1);
    rig.next();
    rig.queue.world_changed();
    assert!(rig.hold("a", 60_000));
    assert_eq!(rig.next(), "until 60000", "the node's change means nothing to a rejection");
}

#[tokio::test(start_paused = true)]
async fn the_rejection_of_a_pod_that_goes_or_is_edited_is_dropped() {
    for edited in [false, true] {
        let mut rig = QueueRig::new();
        rig.add("a", 1);
        rig.next();
        assert!(rig.hold("a", 60_000));
        match edited {
            false => rig.queue.remove(&PodUid::from("a")),
            true => rig.add("a", 1),
        }
        assert_eq!(rig.next(), if edited { "a idle" } else { "idle" });
        rig.ms = 60_000;
        assert_eq!(rig.next(), "idle", "nothing is published");
        assert_eq!(rig.queue.held(), 0);
    }
    let mut rig = QueueRig::new();
    rig.add("a", 1);
    rig.next();
    rig.queue.remove(&PodUid::from("a"));
    assert!(!rig.hold("a", 60_000), "it went while it was asked for");
    assert_eq!((rig.next(), rig.queue.held()), ("idle".to_owned(), 0));
}

proptest! {
    /// Whatever the order of answers: an admission stands only if it was asked for together with all that stand, and in the
    /// end every pod is judged once.
    #[test]
    fn an_admission_stands_only_with_all_that_stood_before(
        answers in proptest::collection::vec((0usize..16, 0u64..50, 0u8..4), 0..300),
        pods in 1usize..20,
    ) {
        let mut rig = QueueRig::new();
        for n in 0..pods {
            rig.add(&format!("p{n}"), i64::try_from(n).expect("small"));
        }
        // Pods that are asked for, with the number of admissions at that time.
        let mut asked: Vec<(String, u64)> = Vec::new();
        let mut judged = 0;
        let finish = (0..2000).map(|_| (0, 20, 0));
        for (which, ms, kind) in answers.into_iter().chain(finish) {
            rig.ms += ms;
            let admissions = rig.admissions;
            let next = rig.next();
            asked.extend(next.split(' ').filter(|word| word.starts_with('p')).map(|p| (p.to_owned(), admissions)));
            if asked.is_empty() {
                continue;
            }
            let (name, admitted_then) = asked.remove(which % asked.len());
            let decision = if kind == 3 { reject() } else { Admit };
            let admits = decision == Admit;
            if rig.answer(&name, decision) {
                judged += 1;
                prop_assert!(!admits || admitted_then == admissions, "{name} stood next to {admitted_then} of {admissions}");
            }
        }
        prop_assert_eq!(judged, pods);
        prop_assert_eq!(rig.queue.len(), 0);
    }
}

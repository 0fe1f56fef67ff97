//! One static pod at a time under a full name: workers and the queue for the name together, as upstream's
//! `TestStaticPodExclusion` plays it.

use std::collections::BTreeMap;

use super::*;
use crate::pod::static_pod::StaticPodQueue;
use crate::pod::{PodFullName, PodUid};

/// Pods of one full name, whose work ends only when the test says so.
struct Name {
    name: PodFullName,
    queue: StaticPodQueue,
    workers: BTreeMap<PodUid, Worker>,
    /// Pods that were synced, in order.
    synced: Vec<PodUid>,
}

impl Name {
    fn new() -> Self {
        Self {
            name: PodFullName::new("test1", "pod1"),
            queue: StaticPodQueue::default(),
            workers: BTreeMap::new(),
            synced: Vec::new(),
        }
    }

    fn send(&mut self, uid: &str, kind: UpdateKind) {
        let id = PodUid::from(uid);
        let update = update(kind, pod(Some(30)));
        let effects = match self.workers.get_mut(&id) {
            Some(worker) => worker.transition(Send(update)),
            None => {
                let (worker, effects) = Worker::begin(update, false).expect("it has a pod");
                self.workers.insert(id.clone(), worker);
                effects
            }
        };
        self.carry_out(&id, effects);
    }

    /// What the agent does: static pods ask the queue before their first sync, and free the name when they finish.
    fn carry_out(&mut self, uid: &PodUid, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Run(Work { task: Task::Sync, .. }) => {
                    let is_static = uid.as_str().ends_with("static");
                    if is_static && !self.queue.allow_start(&self.name, uid) {
                        self.pass(uid, StartDenied);
                    } else {
                        self.synced.push(uid.clone());
                    }
                }
                Effect::Finished => {
                    if let Some(next) = self.queue.forget(&self.name, uid) {
                        self.pass(&next, Send(update(Sync, pod(Some(30)))));
                    }
                }
                Effect::Run(_) | Effect::CancelRunning | Effect::Requeue => {}
            }
        }
    }

    fn pass(&mut self, uid: &PodUid, event: WorkerEvent) {
        let Some(worker) = self.workers.get_mut(uid) else { return };
        let effects = worker.transition(event);
        self.carry_out(uid, effects);
    }

    /// All work that is under way ends well, until none is.
    fn drain(&mut self) {
        while let Some(uid) =
            self.workers.iter().find(|(_, worker)| worker.is_running()).map(|(uid, _)| uid.clone())
        {
            self.pass(&uid, WorkEnded(Done));
        }
    }

    fn started(&self) -> Option<&str> {
        self.queue.started(&self.name).map(PodUid::as_str)
    }

    fn synced(&self, uid: &str) -> bool {
        self.synced.iter().any(|synced| synced.as_str() == uid)
    }

    fn is_finished(&self, uid: &str) -> bool {
        self.workers.get(&PodUid::from(uid)).is_some_and(Worker::is_finished)
    }
}

#[test]
fn a_static_pod_runs_next_to_one_of_the_api_server_and_holds_up_those_that_follow() {
    let mut name = Name::new();
    for uid in ["1-normal", "2-static", "3-static", "4-static"] {
        name.send(uid, Create);
        name.drain();
    }
    assert!(name.synced("1-normal") && name.synced("2-static"), "only static pods exclude each other");
    assert!(!name.synced("3-static") && !name.synced("4-static"));
    assert_eq!(name.started(), Some("2-static"));
    // Asking again changes nothing while the first one runs.
    name.send("3-static", Change);
    name.drain();
    assert_eq!((name.started(), name.synced("3-static")), (Some("2-static"), false));
}

#[test]
fn a_pod_killed_while_it_waits_is_over_at_once_and_passed_by() {
    let mut name = Name::new();
    for uid in ["2-static", "3-static", "4-static"] {
        name.send(uid, Create);
        name.drain();
    }
    name.send("3-static", Kill);
    assert!(name.is_finished("3-static") && !name.synced("3-static"));
    assert_eq!(name.started(), Some("2-static"));
    name.send("2-static", Kill);
    name.drain();
    assert!(name.is_finished("2-static"));
    assert_eq!(name.started(), Some("4-static"), "it need not ask again");
    assert!(name.synced("4-static"));
}

#[test]
fn a_pod_that_ends_holds_the_name_until_it_is_finished() {
    let mut name = Name::new();
    name.send("4-static", Create);
    name.drain();
    name.send("6-static", Create);
    name.send("4-static", Kill);
    assert_eq!((name.started(), name.synced("6-static")), (Some("4-static"), false), "it still ends");
    name.drain();
    assert_eq!((name.started(), name.synced("6-static")), (Some("6-static"), true));
}

#[test]
fn the_line_is_kept_whichever_is_asked_first() {
    let mut name = Name::new();
    for uid in ["6-static", "7-static", "8-static", "9-static"] {
        name.send(uid, Create);
        name.drain();
    }
    // The one in front comes back after its end, and isn't the next for that.
    name.send("6-static", Kill);
    name.send("6-static", Create);
    name.send("8-static", Change);
    assert!(name.workers[&PodUid::from("6-static")].is_restart_requested());
    name.drain();
    assert_eq!(name.started(), Some("7-static"));
    assert!(!name.synced("8-static"));
    name.send("7-static", Kill);
    name.drain();
    assert_eq!(name.started(), Some("8-static"));
    assert!(name.synced("8-static") && !name.synced("9-static"));
}

//! By which words pods are counted.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::*;
use crate::pod::worker::{KillOptions, Outcome, Update, UpdateKind, WorkerEvent};

fn worker(origin: Origin) -> Worker {
    let pod = (origin == Origin::Source).then(std::sync::Arc::default);
    let kill = (origin == Origin::RuntimeOnly).then(KillOptions::default);
    let kind = if origin == Origin::Source { UpdateKind::Create } else { UpdateKind::Kill };
    let update = Update { kind, pod, started_at: Timestamp::UNIX_EPOCH, kill };
    Worker::begin(update, false).expect("a worker").0
}

#[test]
fn a_worker_is_counted_by_how_far_it_has_come_and_who_wants_its_pod() {
    let mut of_source = worker(Origin::Source);
    let words = |worker: &Worker, has_source, is_static| {
        let WorkingPod { lifecycle, config, is_static } = WorkingPod::of(worker, has_source, is_static);
        (lifecycle, config, is_static)
    };
    assert_eq!(words(&of_source, true, false), ("sync", "desired", ""));
    assert_eq!(words(&of_source, true, true), ("sync", "desired", "true"));
    assert_eq!(words(&of_source, false, true), ("sync", "orphan", "true"));
    of_source.transition(WorkerEvent::WorkEnded(Outcome::PodEnded));
    assert_eq!(words(&of_source, false, false), ("terminating", "orphan", ""));
    of_source.transition(WorkerEvent::WorkEnded(Outcome::Done));
    assert_eq!(words(&of_source, true, false), ("terminated", "desired", ""));
    assert_eq!(words(&worker(Origin::RuntimeOnly), false, true), ("terminating", "runtime_only", "unknown"));
}

#[test]
fn each_combination_is_there_once() {
    let all: Vec<WorkingPod> = WorkingPod::all().collect();
    let once: BTreeSet<WorkingPod> = all.iter().copied().collect();
    assert_eq!((all.len(), once.len()), (15, 15));
}

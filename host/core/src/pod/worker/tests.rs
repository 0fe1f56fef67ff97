//! The rules of the pod worker as tables: what comes in, what the worker answers.

use k8s_openapi::api::core::v1::{PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;

mod exclusion;
mod properties;
mod tables;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a small number of seconds is a timestamp")
}

fn pod(grace: Option<i64>) -> Pod {
    Pod {
        metadata: ObjectMeta { uid: Some("u".into()), name: Some("p".into()), ..Default::default() },
        spec: Some(PodSpec { termination_grace_period_seconds: grace, ..Default::default() }),
        status: None,
    }
}

fn deleted(grace: i64) -> Pod {
    let mut pod = pod(Some(30));
    pod.metadata.deletion_timestamp = Some(Time(at(1)));
    pod.metadata.deletion_grace_period_seconds = Some(grace);
    pod
}

fn with_phase(phase: &str) -> Pod {
    Pod { status: Some(PodStatus { phase: Some(phase.into()), ..Default::default() }), ..pod(Some(30)) }
}

fn update(kind: UpdateKind, pod: Pod) -> Update {
    Update { kind, pod: Some(Arc::new(pod)), started_at: at(0), kill: None }
}

fn kill(grace: Option<i64>) -> Update {
    Update {
        kind: Kill,
        pod: None,
        started_at: at(0),
        kill: Some(KillOptions { evict: false, grace_seconds: grace }),
    }
}

fn show(effects: &[Effect]) -> String {
    let words: Vec<String> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Run(Work { task: Task::Sync, kind, .. }) => format!("sync({kind:?})"),
            Effect::Run(Work { task: Task::Terminate { grace_seconds, .. }, .. }) => {
                format!("terminate({grace_seconds})")
            }
            Effect::Run(Work { task: Task::Settle, .. }) => "settle".into(),
            Effect::CancelRunning => "cancel".into(),
            Effect::Requeue => "requeue".into(),
            Effect::Finished => "finished".into(),
        })
        .collect();
    words.join(" ")
}

/// Feeds the events to a fresh worker and lists what it answered to each, the first being its beginning.
fn trace(first: Update, ended: bool, events: Vec<WorkerEvent>) -> String {
    let Some((mut worker, effects)) = Worker::begin(first, ended) else { return "ignored".into() };
    let mut lines = vec![show(&effects)];
    for event in events {
        lines.push(show(&worker.transition(event)));
    }
    lines.join(" | ")
}

use Outcome::{Done, Failed, PodEnded};
use UpdateKind::{Create, Kill, Sync, Update as Change};
use WorkerEvent::{StartDenied, Update as Send, WorkEnded};

#[test]
fn a_pod_syncs_until_it_is_killed_then_terminates_settles_and_finishes() {
    let cases: Vec<(&str, Update, Vec<WorkerEvent>, &str)> = vec![
        (
            "the whole life",
            update(Create, pod(Some(30))),
            vec![
                WorkEnded(Done),
                Send(update(Sync, pod(Some(30)))),
                WorkEnded(Done),
                Send(kill(None)),
                WorkEnded(Done),
                WorkEnded(Done),
            ],
            "sync(Create) | requeue | sync(Sync) | requeue | terminate(30) | settle | finished",
        ),
        (
            "a failing sync is tried again",
            update(Create, pod(None)),
            vec![WorkEnded(Failed), Send(update(Sync, pod(None)))],
            "sync(Create) | requeue | sync(Sync)",
        ),
        (
            "a pod whose containers ended for good moves on at once",
            update(Create, pod(Some(5))),
            vec![WorkEnded(PodEnded), WorkEnded(Done), WorkEnded(Done)],
            "sync(Create) | terminate(5) | settle | finished",
        ),
        (
            "failing to terminate and to settle is tried again",
            update(Create, deleted(7)),
            vec![
                WorkEnded(Failed),
                Send(update(Sync, deleted(7))),
                WorkEnded(Done),
                WorkEnded(Failed),
                Send(update(Sync, deleted(7))),
                WorkEnded(Done),
            ],
            "terminate(7) | requeue | terminate(7) | settle | requeue | settle | finished",
        ),
        (
            "a terminal phase ends the pod",
            update(Create, pod(Some(30))),
            vec![WorkEnded(Done), Send(update(Change, with_phase("Failed")))],
            "sync(Create) | requeue | terminate(30)",
        ),
        (
            "updates that come while work runs wait in one slot",
            update(Create, pod(None)),
            vec![Send(update(Change, pod(None))), Send(update(Sync, pod(None))), WorkEnded(Done)],
            "sync(Create) |  |  | sync(Update)",
        ),
        (
            "an end of work that isn't running is nothing",
            update(Create, pod(None)),
            vec![WorkEnded(Done), WorkEnded(Done)],
            "sync(Create) | requeue | ",
        ),
    ];
    for (name, first, events, expected) in cases {
        assert_eq!(trace(first, false, events), expected, "{name}");
    }
}

#[test]
fn a_kill_cancels_the_running_sync_and_is_never_overwritten() {
    let after = vec![
        Send(kill(Some(3))),
        Send(update(Change, pod(Some(60)))),
        Send(update(Sync, pod(Some(60)))),
        WorkEnded(Done),
    ];
    assert_eq!(
        trace(update(Create, pod(Some(30))), false, after),
        "sync(Create) | cancel |  |  | terminate(3)"
    );
}

#[test]
fn grace_only_shrinks_and_shrinking_cancels_the_running_work() {
    let events = vec![
        Send(kill(Some(20))),
        WorkEnded(Failed),
        Send(kill(Some(40))),
        Send(kill(Some(5))),
        WorkEnded(Failed),
        Send(kill(Some(0))),
        WorkEnded(Done),
    ];
    assert_eq!(
        trace(update(Create, pod(Some(30))), false, events),
        "sync(Create) | cancel | terminate(20) |  | cancel | terminate(5) | cancel | settle"
    );
}

#[test]
fn grace_is_the_shortest_that_anyone_asked_for_and_at_least_one_second() {
    let cases = [
        ("the spec's", pod(Some(30)), None, 30),
        ("none anywhere", pod(None), None, 1),
        ("zero in the spec", pod(Some(0)), None, 1),
        ("the deletion's before the spec's", deleted(4), None, 4),
        ("asked for less than the deletion", deleted(9), Some(2), 2),
        ("asked for more than the deletion", deleted(9), Some(20), 9),
        ("asked for more than the spec, as an eviction may", pod(Some(30)), Some(60), 60),
        ("asked for nothing", pod(Some(30)), Some(0), 1),
    ];
    for (name, pod, asked, expected) in cases {
        assert_eq!(effective_grace(None, Some(&pod), asked), expected, "{name}");
    }
}

#[test]
fn kill_options_on_a_pod_that_is_not_to_end_are_dropped() {
    let mut change = update(Change, pod(Some(30)));
    change.kill = Some(KillOptions { evict: true, grace_seconds: Some(1) });
    let (mut worker, _) = Worker::begin(update(Create, pod(Some(30))), false).expect("a pod begins");
    assert_eq!(show(&worker.transition(Send(change))), "");
    assert_eq!(worker.state(), WorkerState::Syncing);
    worker.transition(Send(kill(None)));
    assert_eq!(worker.state(), WorkerState::Terminating { grace_seconds: 30, evicted: false });
}

#[test]
fn merged_updates_keep_the_earliest_start() {
    let (mut worker, _) = Worker::begin(update(Create, pod(None)), false).expect("a pod begins");
    for seconds in [50, 20, 70] {
        worker.transition(Send(Update { started_at: at(seconds), ..update(Sync, pod(None)) }));
    }
    let effects = worker.transition(WorkEnded(Done));
    let [Effect::Run(work)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(work.started_at, at(20));
}

#[test]
fn a_pod_that_only_the_runtime_has_accepts_nothing_but_a_kill() {
    for kind in [Create, Change, Sync] {
        let first = Update { kind, pod: None, started_at: at(0), kill: None };
        assert_eq!(trace(first, false, vec![]), "ignored");
    }
    let events = vec![Send(update(Change, pod(None))), Send(update(Create, pod(None))), WorkEnded(Done)];
    assert_eq!(trace(kill(Some(1)), false, events), "terminate(1) |  |  | finished");
}

#[test]
fn a_pod_created_again_while_it_ends_asks_for_a_restart_and_does_not_disturb_the_end() {
    let (mut worker, _) = Worker::begin(update(Create, deleted(3)), false).expect("a pod begins");
    assert!(!worker.is_restart_requested());
    assert_eq!(show(&worker.transition(Send(update(Create, pod(Some(30)))))), "");
    assert!(worker.is_restart_requested());
    assert_eq!(show(&worker.transition(WorkEnded(Done))), "settle");
    assert_eq!(show(&worker.transition(WorkEnded(Done))), "finished");
}

#[test]
fn a_finished_worker_ignores_everything_but_the_wish_for_a_restart() {
    let (mut worker, _) = Worker::begin(update(Create, deleted(3)), false).expect("a pod begins");
    worker.transition(WorkEnded(Done));
    worker.transition(WorkEnded(Done));
    assert!(worker.is_finished());
    for event in [Send(update(Sync, pod(None))), Send(kill(Some(1))), WorkEnded(Failed), StartDenied] {
        assert_eq!(show(&worker.transition(event)), "");
        assert!(worker.is_finished());
    }
    worker.transition(Send(update(Create, pod(None))));
    assert!(worker.is_restart_requested());
}

#[test]
fn a_pod_that_had_ended_before_the_agent_saw_it_only_settles() {
    let (mut worker, effects) = Worker::begin(update(Create, with_phase("Succeeded")), true).expect("begins");
    assert_eq!(show(&effects), "settle");
    assert!(worker.is_terminated() && !worker.is_finished());
    assert_eq!(show(&worker.transition(WorkEnded(Done))), "finished");
}

#[test]
fn a_start_that_is_denied_is_tried_again_with_everything_that_came_since() {
    let events = vec![
        StartDenied,
        Send(update(Sync, pod(None))),
        StartDenied,
        Send(update(Change, pod(None))),
        WorkEnded(Done),
    ];
    assert_eq!(
        trace(update(Create, pod(None)), false, events),
        "sync(Create) | requeue | sync(Create) | requeue | sync(Create) | requeue"
    );
}

#[test]
fn a_pod_killed_before_it_was_allowed_to_start_is_finished_at_once() {
    let events = vec![StartDenied, Send(kill(None))];
    assert_eq!(trace(update(Create, pod(None)), false, events), "sync(Create) | requeue | finished");
}

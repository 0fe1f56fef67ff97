//! What upstream's tables of `pod_workers_test.go` know, as cases of ours (`tests/upstream.md`).

use super::*;

/// State, effects of the beginning, and whether a restart is asked for after all that happens.
fn outline(first: Update, ended: bool, events: Vec<WorkerEvent>) -> String {
    let Some((mut worker, effects)) = Worker::begin(first, ended) else { return "ignored".into() };
    let mut answers = vec![show(&effects)];
    answers.extend(events.into_iter().map(|event| show(&worker.transition(event))));
    let evicted = match worker.state() {
        WorkerState::Terminating { evicted, .. } | WorkerState::Terminated { evicted } => evicted,
        WorkerState::Syncing | WorkerState::Finished => false,
    };
    let mut text = answers.join(" | ");
    for (holds, word) in [(evicted, "evicted"), (worker.is_restart_requested(), "returns")] {
        if holds {
            text = format!("{text} ({word})");
        }
    }
    text
}

fn evict() -> Update {
    Update { kill: Some(KillOptions { evict: true, grace_seconds: None }), ..update(Kill, pod(Some(30))) }
}

#[test]
fn updates_start_end_and_settle_pods() {
    let created = || update(Create, pod(Some(30)));
    let orphan = |kind| Update { kind, pod: None, started_at: at(0), kill: None };
    let cases: Vec<(&str, Update, bool, Vec<WorkerEvent>, &str)> = vec![
        ("a new pod is started", created(), false, vec![], "sync(Create)"),
        (
            "a pod created again while the one with its UID ends comes back later",
            created(),
            false,
            vec![WorkEnded(Done), Send(kill(None)), Send(created()), WorkEnded(Done), WorkEnded(Done)],
            "sync(Create) | requeue | terminate(30) |  | settle | finished (returns)",
        ),
        (
            "what the runtime has of a pod that a source has doesn't matter",
            created(),
            false,
            vec![Send(kill(Some(9)))],
            "sync(Create) | cancel",
        ),
        (
            "a deletion ends a running pod within its own grace",
            created(),
            false,
            vec![WorkEnded(Done), Send(update(Change, deleted(15))), WorkEnded(Done), WorkEnded(Done)],
            "sync(Create) | requeue | terminate(15) | settle | finished",
        ),
        (
            "an eviction ends a running pod within the spec's grace",
            created(),
            false,
            vec![WorkEnded(Done), Send(evict())],
            "sync(Create) | requeue | terminate(30) (evicted)",
        ),
        (
            "a pod that had ended is ended again if no one knows what the runtime has of it",
            update(Create, with_phase("Succeeded")),
            false,
            vec![WorkEnded(Done), WorkEnded(Done)],
            "terminate(30) | settle | finished",
        ),
        (
            "a pod that had ended only settles if nothing of it runs",
            update(Create, with_phase("Succeeded")),
            true,
            vec![WorkEnded(Done)],
            "settle | finished",
        ),
        (
            "a pod that only the runtime has ends, and leaves nothing to settle",
            Update { kill: None, ..kill(None) },
            false,
            vec![WorkEnded(Done)],
            "terminate(1) | finished",
        ),
        ("a pod that only the runtime has isn't created", orphan(Create), false, vec![], "ignored"),
        ("nor updated", orphan(Change), false, vec![], "ignored"),
        ("nor synced", orphan(Sync), false, vec![], "ignored"),
    ];
    for (name, first, ended, events, expected) in cases {
        assert_eq!(outline(first, ended, events), expected, "{name}");
    }
}

#[test]
fn a_kill_of_a_pod_that_only_the_runtime_had_is_nothing_once_it_has_ended() {
    let events = vec![WorkEnded(Done), Send(kill(None)), Send(kill(Some(5)))];
    assert_eq!(outline(kill(Some(1)), false, events), "terminate(1) | finished |  | ");
}

#[test]
fn a_kill_between_a_creation_and_an_update_is_not_forgotten() {
    let events = vec![
        Send(kill(None)),
        Send(update(Change, pod(Some(30)))),
        WorkEnded(Failed),
        WorkEnded(Done),
        WorkEnded(Done),
    ];
    assert_eq!(
        outline(update(Create, pod(Some(30))), false, events),
        "sync(Create) | cancel |  | terminate(30) | settle | finished"
    );
}

/// What the source says no more is ended by a kill, whatever state its worker is in.
#[test]
fn an_undesired_pod_is_brought_to_its_end_from_every_state() {
    let start = || update(Create, pod(Some(30)));
    let end = || Send(kill(None));
    let until_settling = || vec![end(), WorkEnded(Failed), WorkEnded(Done)];
    let cases: Vec<(&str, Vec<WorkerEvent>, &str)> = vec![
        ("it has finished", [until_settling(), vec![WorkEnded(Done)]].concat(), ""),
        ("it waits for another pod of its name", vec![StartDenied], "finished"),
        ("it runs, and work is under way", vec![], "cancel"),
        ("it runs, and no work is under way", vec![WorkEnded(Done)], "terminate(30)"),
        ("it ends, and work is under way", vec![end(), WorkEnded(Failed)], ""),
        (
            "its end failed, and is to be tried again",
            vec![end(), WorkEnded(Failed), WorkEnded(Failed)],
            "terminate(30)",
        ),
        ("it ends, and more came in", vec![end(), WorkEnded(Failed), Send(update(Sync, pod(Some(30))))], ""),
        ("it settles, and work is under way", until_settling(), ""),
        (
            "settling failed, and is to be tried again",
            [until_settling(), vec![WorkEnded(Failed)]].concat(),
            "settle",
        ),
        (
            "it settles, and more came in",
            [until_settling(), vec![Send(update(Sync, pod(Some(30))))]].concat(),
            "",
        ),
    ];
    for (name, events, expected) in cases {
        let (mut worker, _) = Worker::begin(start(), false).expect("a pod begins");
        for event in events {
            worker.transition(event);
        }
        assert_eq!(show(&worker.transition(end())), expected, "{name}");
        // From there on it only takes work that is done.
        for _ in 0..4 {
            if !worker.is_running() {
                worker.transition(Send(update(Sync, pod(Some(30)))));
            }
            worker.transition(WorkEnded(Done));
        }
        assert!(worker.is_finished(), "{name}");
    }
}

#[test]
fn the_next_check_comes_after_what_the_cause_asks_for() {
    let intervals = RequeueIntervals { resync: Duration::from_secs(20), ..RequeueIntervals::default() };
    let seconds = Duration::from_secs;
    use RequeueCause::{BackOff, Error, NetworkNotReady, Resync};
    // The causes that a piece of work met, and the least time until the next check; the most is half as much again.
    let cases: Vec<(&str, Vec<RequeueCause>, Duration)> = vec![
        ("all is well", vec![Resync], seconds(20)),
        ("an error", vec![Error], seconds(10)),
        ("an error among others", vec![Resync, Error, Resync], seconds(10)),
        ("a back-off", vec![BackOff(seconds(5))], seconds(5)),
        ("a back-off and an error", vec![Error, BackOff(seconds(7))], seconds(7)),
        ("two back-offs", vec![BackOff(seconds(10)), BackOff(seconds(3))], seconds(3)),
        ("a back-off that is over", vec![BackOff(Duration::ZERO)], Duration::ZERO),
        ("a back-off beyond the regular check", vec![BackOff(seconds(40))], seconds(20)),
        ("no network", vec![NetworkNotReady], seconds(1)),
        ("no network and an error", vec![Error, NetworkNotReady], seconds(1)),
        (
            "no network, an error and a back-off",
            vec![Error, NetworkNotReady, BackOff(seconds(3))],
            seconds(1),
        ),
    ];
    for (name, causes, least) in cases {
        let either_way = [causes.clone(), causes.into_iter().rev().collect()];
        for causes in either_way {
            let cause = causes.into_iter().reduce(RequeueCause::and).expect("no case is without a cause");
            for jitter in [0.0, 0.4, 0.99] {
                let after = requeue_after(cause, &intervals, jitter);
                assert!(least <= after && after <= least.mul_f64(1.5), "{name}: {after:?}");
            }
            assert_eq!(requeue_after(cause, &intervals, 0.0), least, "{name}");
        }
    }
}

#[test]
fn a_change_of_state_needs_no_next_check() {
    // The end of a pod's containers is followed by its next piece of work, not by a wait.
    let events = vec![WorkEnded(PodEnded), WorkEnded(Done)];
    assert_eq!(
        outline(update(Create, pod(Some(30))), false, events),
        "sync(Create) | terminate(30) | settle"
    );
}

#[test]
fn grace_comes_from_the_kill_then_the_deletion_then_the_spec() {
    let with_deletion = |seconds| Pod { spec: pod(Some(30)).spec, ..deleted(seconds) };
    let cases = [
        ("the spec's", pod(Some(30)), None, 30),
        ("the deletion's", with_deletion(5), None, 5),
        ("the kill's", with_deletion(5), Some(2), 2),
        ("no time by the deletion is a second", with_deletion(0), None, 1),
        ("no time by the kill is a second", with_deletion(5), Some(0), 1),
    ];
    for (name, pod, asked, expected) in cases {
        assert_eq!(effective_grace(None, Some(&pod), asked), expected, "{name}");
    }
}

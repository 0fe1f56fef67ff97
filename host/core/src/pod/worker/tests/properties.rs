//! What holds for any sequence of updates, kills, ends of work and crashes of the agent.

use proptest::prelude::*;

use super::*;

fn any_event() -> impl Strategy<Value = WorkerEvent> {
    let kind = prop_oneof![Just(Create), Just(Change), Just(Sync), Just(Kill)];
    let grace = proptest::option::of(0i64..100);
    let outcome = prop_oneof![Just(Done), Just(Failed), Just(PodEnded)];
    let sent = (kind, grace, any::<bool>()).prop_map(|(kind, grace_seconds, gone)| {
        let pod = if gone { deleted(grace_seconds.unwrap_or(9)) } else { pod(grace_seconds) };
        Send(Update { kill: Some(KillOptions { evict: gone, grace_seconds }), ..update(kind, pod) })
    });
    prop_oneof![4 => sent, 2 => outcome.prop_map(WorkEnded), 1 => Just(StartDenied)]
}

fn rank(state: WorkerState) -> u8 {
    match state {
        WorkerState::Syncing => 0,
        WorkerState::Terminating { .. } => 1,
        WorkerState::Terminated { .. } => 2,
        WorkerState::Finished => 3,
    }
}

/// What happens to a worker, or to the agent that it is a part of.
#[derive(Clone, Debug)]
enum Happening {
    Received(WorkerEvent),
    /// The agent dies, restarts, and its source sends the pod as for the first time.
    Crash,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![9 => any_event().prop_map(Happening::Received), 1 => Just(Happening::Crash)]
}

/// The work that the executor gets.
fn run(effects: Vec<Effect>) -> Option<Work> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Run(work) => Some(work),
        Effect::CancelRunning | Effect::Requeue | Effect::Finished => None,
    })
}

/// Whether an update asks for the end of its pod.
fn asks_for_end(update: &Update) -> bool {
    update.kind == Kill || update.pod.as_deref().is_some_and(is_ending)
}

proptest! {
    #[test]
    fn no_sequence_overwrites_a_kill_lengthens_the_grace_or_runs_two_things_at_once(
        events in proptest::collection::vec(any_event(), 0..60)
    ) {
        let (mut worker, effects) =
            Worker::begin(update(Create, pod(Some(30))), false).expect("a pod begins");
        let mut at_work = effects.len();
        for event in events {
            let before = worker.state();
            if matches!(event, WorkEnded(_) | StartDenied) {
                at_work = 0;
            }
            let effects = worker.transition(event);
            at_work += effects.iter().filter(|e| matches!(e, Effect::Run(_))).count();
            prop_assert!(at_work <= 1);
            prop_assert!(rank(worker.state()) >= rank(before));
            if let (
                WorkerState::Terminating { grace_seconds: old, evicted: was },
                WorkerState::Terminating { grace_seconds: new, evicted: is },
            ) = (before, worker.state()) {
                prop_assert!(new <= old && new >= GRACE_SECONDS_MIN);
                prop_assert!(is || !was);
            }
            for effect in &effects {
                if let Effect::Run(work) = effect {
                    prop_assert_eq!(work.task == Task::Sync, worker.state() == WorkerState::Syncing);
                    prop_assert!(work.task == Task::Sync || work.kind == Kill);
                }
            }
        }
    }

    #[test]
    fn a_pod_ends_where_its_last_desired_state_asks_whatever_happened_before(
        happenings in proptest::collection::vec(any_happening(), 0..60)
    ) {
        let first = pod(Some(30));
        let begin = |pod: &Arc<Pod>| {
            let first = Update { kind: Create, pod: Some(pod.clone()), started_at: at(0), kill: None };
            Worker::begin(first, false).expect("a pod begins")
        };
        let mut desired = Arc::new(first);
        let (mut worker, effects) = begin(&desired);
        let mut ends = false;
        let mut last_run = run(effects);
        for happening in happenings {
            let effects = match happening {
                Happening::Crash => {
                    ends = is_ending(&desired);
                    let (again, effects) = begin(&desired);
                    worker = again;
                    effects
                }
                Happening::Received(event) => {
                    let syncs = worker.state() == WorkerState::Syncing && worker.is_running();
                    match &event {
                        Send(update) => {
                            // A pod created again comes back once the old one is gone; the old one goes on ending.
                            let comes_back = update.kind == Create && worker.is_terminating();
                            if !comes_back && !worker.is_finished() {
                                desired = update.pod.clone().unwrap_or_else(|| desired.clone());
                                ends |= asks_for_end(update);
                            }
                        }
                        WorkEnded(PodEnded) => ends |= syncs,
                        WorkEnded(Done | Failed) | StartDenied => {}
                    }
                    worker.transition(event)
                }
            };
            last_run = run(effects).or(last_run);
        }
        // From here on everything works, and a waiting worker is woken.
        for _ in 0..8 {
            let event = match worker.is_running() {
                true => WorkEnded(Done),
                false => Send(Update { kind: Sync, pod: None, started_at: at(1), kill: None }),
            };
            last_run = run(worker.transition(event)).or(last_run);
        }
        if ends {
            prop_assert!(worker.is_finished());
        } else {
            prop_assert_eq!(worker.state(), WorkerState::Syncing);
            let work = last_run.expect("a pod that goes on was synced");
            prop_assert_eq!(work.task, Task::Sync);
            prop_assert_eq!(work.pod.as_deref(), Some(&*desired), "the newest pod is what is synced");
        }
    }
}

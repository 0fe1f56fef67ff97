//! The life of a pod: every event at every point of it, and what holds for any story.

use std::fmt::Write;

use expect_test::expect_file;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;
use crate::pod::worker::{Task, WorkerState};

mod stories;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A pod with a container that `runs_once`, which doesn't take over what is left of a pod before it.
fn pod(runs_once: bool) -> Pod {
    let policy = if runs_once { "Never" } else { "Always" };
    Pod {
        metadata: ObjectMeta { uid: Some("u".into()), name: Some("p".into()), ..Default::default() },
        spec: Some(PodSpec {
            restart_policy: Some(policy.into()),
            termination_grace_period_seconds: Some(30),
            containers: vec![Container { name: "app".into(), ..Default::default() }],
            ..Default::default()
        }),
        status: None,
    }
}

fn deleted(mut pod: Pod) -> Pod {
    pod.metadata.deletion_timestamp = Some(Time(NOW));
    pod.metadata.deletion_grace_period_seconds = Some(7);
    pod
}

fn facts(pod: Option<Pod>) -> Facts {
    Facts { pod: pod.map(Arc::new), now: NOW, has_ended: false, may_begin: true }
}

fn event_name(event: &Event) -> String {
    match event {
        Event::Kill(options) => format!("Kill({:?})", options.grace_seconds),
        other => format!("{other:?}"),
    }
}

fn effect_name(effect: &Effect) -> String {
    match effect {
        Effect::Run(work) => match work.task {
            Task::Sync => "sync".to_owned(),
            Task::Terminate { grace_seconds, .. } => format!("terminate({grace_seconds})"),
            Task::Settle => "settle".to_owned(),
        },
        Effect::Ask => "ask".to_owned(),
        Effect::StopAsking => "stop asking".to_owned(),
        Effect::ConsiderResize => "consider resize".to_owned(),
        Effect::CancelRunning => "cancel".to_owned(),
        Effect::Requeue => "requeue".to_owned(),
        Effect::Finished => "finished".to_owned(),
        Effect::StartOver => "start over".to_owned(),
        Effect::Forget => "forget".to_owned(),
    }
}

fn show(life: &Lifecycle) -> String {
    let mut words: Vec<String> = life.stage.iter().map(|stage| format!("{stage:?}")).collect();
    if let Some(worker) = &life.worker {
        let state = match worker.state() {
            WorkerState::Syncing => "syncing".to_owned(),
            WorkerState::Terminating { grace_seconds, .. } => format!("terminating({grace_seconds})"),
            WorkerState::Terminated { .. } => "terminated".to_owned(),
            WorkerState::Finished => "finished".to_owned(),
        };
        let origin = if worker.origin() == Origin::RuntimeOnly { "orphan " } else { "" };
        let at_work = if worker.is_running() { ", at work" } else { "" };
        let returns = if worker.is_restart_requested() { ", to return" } else { "" };
        words.push(format!("{origin}{state}{at_work}{returns}"));
    }
    if life.waits_for_capacity {
        words.push("waits for capacity".to_owned());
    }
    if words.is_empty() { "gone".to_owned() } else { words.join(" + ") }
}

/// Ways to every kind of point in a pod's life, as events.
fn points() -> Vec<Vec<Event>> {
    use Event::{
        Added, Admitted, Deferred, Kill, Orphaned, Rejected, Removed, StartDenied, WaitsForCapacity,
        WorkEnded,
    };
    let added = || Added(Arrival::default());
    let kill = || Kill(KillOptions::default());
    let (done, ended) = (|| WorkEnded(Outcome::Done), || WorkEnded(Outcome::PodEnded));
    vec![
        vec![],
        vec![added()],
        vec![added(), WaitsForCapacity],
        vec![added(), Rejected],
        vec![added(), Admitted],
        vec![added(), Admitted, StartDenied],
        vec![added(), Admitted, done()],
        vec![added(), Admitted, kill()],
        vec![added(), Admitted, ended()],
        vec![added(), Admitted, ended(), WorkEnded(Outcome::Failed)],
        vec![added(), Admitted, ended(), done()],
        vec![added(), Admitted, ended(), done(), done()],
        vec![added(), Deferred { is_alive: true }],
        vec![added(), Deferred { is_alive: true }, Rejected],
        vec![added(), Admitted, Removed { may_end: false }],
        vec![added(), Admitted, Removed { may_end: true }],
        vec![added(), Admitted, Removed { may_end: true }, done(), done()],
        vec![added(), Admitted, Removed { may_end: true }, done(), added()],
        vec![added(), Admitted, Removed { may_end: true }, done(), added(), done()],
        vec![Added(Arrival { is_remembered: false, has_remains: true })],
        vec![Orphaned { grace_seconds: 5 }],
        vec![Orphaned { grace_seconds: 5 }, done()],
        vec![Orphaned { grace_seconds: 5 }, added()],
    ]
}

/// All events, each with the pod that its source has then.
fn events() -> Vec<(Event, &'static str, Option<Pod>)> {
    let kept = || Some(pod(true));
    let arrival = |is_remembered, has_remains| Event::Added(Arrival { is_remembered, has_remains });
    let kill = |grace_seconds| Event::Kill(KillOptions { evict: false, grace_seconds });
    vec![
        (arrival(false, false), "", kept()),
        (arrival(true, false), "", kept()),
        (arrival(false, true), "", kept()),
        (arrival(false, true), " that takes remains over", Some(pod(false))),
        (arrival(false, false), " that is deleted", Some(deleted(pod(true)))),
        (Event::Changed, "", kept()),
        (Event::Changed, " to be deleted", Some(deleted(pod(true)))),
        (Event::Removed { may_end: true }, "", None),
        (Event::Removed { may_end: false }, "", None),
        (Event::Undesired, "", None),
        (Event::Orphaned { grace_seconds: 5 }, "", None),
        (Event::Admitted, "", kept()),
        (Event::Rejected, "", kept()),
        (Event::Deferred { is_alive: false }, "", kept()),
        (Event::Deferred { is_alive: true }, "", kept()),
        (Event::WaitsForCapacity, "", kept()),
        (Event::CapacitySettled, "", kept()),
        (Event::Granted, "", kept()),
        (Event::SyncRequested, "", kept()),
        (kill(None), "", kept()),
        (kill(Some(3)), "", kept()),
        (Event::WorkEnded(Outcome::Done), "", kept()),
        (Event::WorkEnded(Outcome::PodEnded), "", kept()),
        (Event::WorkEnded(Outcome::Failed), "", kept()),
        (Event::StartDenied, "", kept()),
        (Event::Cleared, "", kept()),
        (Event::Cleared, " of one that takes remains over", Some(pod(false))),
        (Event::RemainsGone, "", kept()),
    ]
}

fn at(point: &[Event]) -> Lifecycle {
    let mut life = Lifecycle::default();
    for event in point {
        let has_source = life.stage.is_some() || matches!(event, Event::Added(_));
        let is_removal = matches!(event, Event::Removed { .. });
        life.transition(event.clone(), &facts((has_source && !is_removal).then(|| pod(true))));
    }
    life
}

#[test]
fn each_event_at_each_point_has_its_answer() {
    let mut table = String::new();
    for point in points() {
        let life = at(&point);
        _ = writeln!(table, "{}", show(&life));
        for (event, of, pod) in events() {
            let mut next = life.clone();
            let has_source = life.stage.is_some() || matches!(event, Event::Added(_));
            let effects = next.transition(event.clone(), &facts(pod.filter(|_| has_source)));
            let (before, after) = (show(&life), show(&next));
            if before == after && effects.is_empty() {
                continue;
            }
            let effects: Vec<String> = effects.iter().map(effect_name).collect();
            _ = writeln!(table, "  {}{of}: {after} [{}]", event_name(&event), effects.join(", "));
        }
    }
    expect_file!["tests/table.txt"].assert_eq(&table);
}

#[test]
fn the_cluster_and_the_clean_up_see_where_a_pod_stands() {
    let mut table = String::new();
    for point in points() {
        let life = at(&point);
        let PodState { may_run, is_finished, is_ending } = life.pod_state(|| true);
        let flags = [
            (may_run, "may run"),
            (is_finished, "finished"),
            (is_ending, "ending"),
            (life.counts(), "counts"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        _ = writeln!(table, "{}: {:?}, {}", show(&life), life.need(), flags.join(", "));
    }
    expect_file!["tests/state.txt"].assert_eq(&table);
}

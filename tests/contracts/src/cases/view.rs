//! What is promised of checks of the runtime.

use std::time::Duration;

use tokio::sync::mpsc;
use witlet_core::pod::PodUid;
use witlet_core::runtime::RuntimeEvent;
use witlet_ports::RuntimeError;

use crate::fixture::{Fixture, POLL_INTERVAL, TestPod, Verdict, ensure};

/// How many events may wait for the case to read them.
const EVENTS_MAX: usize = 64;

pub(super) async fn pods_are_known_by_their_labels_alone(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let sleeper = &fixture.environment.sleeper;
    let one = fixture.start(&sandbox, &pod, &pod.container("one", 0, sleeper)).await?;
    let two = fixture.create(&sandbox, &pod, &pod.container("two", 0, sleeper)).await?;
    let other = fixture.pod();
    fixture.run(&other).await?;

    let listed = fixture.listed(&pod).await?.ok_or_else(|| "the pod isn't listed".to_owned())?;
    ensure!(listed.name == pod.sandbox.name, "its name is {:?}", listed.name);
    ensure!(listed.namespace == pod.sandbox.namespace, "its namespace is {:?}", listed.namespace);
    let mut containers: Vec<_> =
        listed.containers.iter().map(|c| (c.name.as_str(), &c.id, &c.sandbox_id)).collect();
    containers.sort_unstable();
    ensure!(containers == [("one", &one, &sandbox), ("two", &two, &sandbox)], "it has {containers:?}");
    let other = fixture.listed(&other).await?.ok_or_else(|| "the other pod isn't listed".to_owned())?;
    ensure!(other.sandboxes.len() == 1 && other.containers.is_empty(), "the other has {other:?}");
    Ok(())
}

pub(super) async fn lists_and_statuses_are_newest_first(fixture: &Fixture<'_>) -> Verdict {
    let mut pod = fixture.pod();
    let sleeper = &fixture.environment.sleeper;
    for attempt in 0..2 {
        pod.sandbox.attempt = attempt;
        let sandbox = fixture.run(&pod).await?;
        for name in ["one", "two"] {
            fixture.create(&sandbox, &pod, &pod.container(name, attempt, sleeper)).await?;
        }
        fixture.runtime.sandboxes.stop(&sandbox).await?;
    }
    let listed = fixture.listed(&pod).await?.ok_or_else(|| "the pod isn't listed".to_owned())?;
    let seen = fixture.inspect(&pod).await?;
    let times = [
        listed.sandboxes.iter().map(|s| s.created_at).collect::<Vec<_>>(),
        listed.containers.iter().map(|c| c.created_at).collect(),
        seen.sandboxes.iter().map(|s| s.created_at).collect(),
        seen.containers.iter().map(|c| c.created_at).collect(),
    ];
    ensure!(times.iter().map(Vec::len).eq([2, 4, 2, 4]), "there are {times:?}");
    ensure!(times.iter().all(|times| times.is_sorted_by(|a, b| a >= b)), "out of order: {times:?}");
    Ok(())
}

pub(super) async fn annotations_come_back_as_they_were_given(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 3, &fixture.environment.sleeper);
    let id = fixture.create(&sandbox, &pod, &config).await?;
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.name == pod.sandbox.name && seen.namespace == pod.sandbox.namespace, "seen is {seen:?}");
    let container = fixture.inspect_container(&pod, &id).await?;
    ensure!(container.spec_hash.as_deref() == Some("c0ffee"), "the hash is {:?}", container.spec_hash);
    ensure!(container.restart_count == 3, "the restart count is {}", container.restart_count);
    let grace = container.termination_grace_seconds;
    ensure!(grace == Some(42), "the grace is {grace:?}");
    Ok(())
}

pub(super) async fn a_pod_that_is_not_there_is_absent(fixture: &Fixture<'_>) -> Verdict {
    let seen = fixture.runtime.view.pod_status(&PodUid::from("no-such-pod")).await?;
    ensure!(seen.uid == PodUid::from("no-such-pod"), "asked for another: {seen:?}");
    ensure!(seen.sandboxes.is_empty() && seen.containers.is_empty() && seen.ips.is_empty(), "{seen:?}");
    Ok(())
}

pub(super) async fn the_status_of_one_pod_shows_no_other(fixture: &Fixture<'_>) -> Verdict {
    let (one, other) = (fixture.pod(), fixture.pod());
    let sandbox = fixture.run(&one).await?;
    let others_sandbox = fixture.run(&other).await?;
    let sleeper = &fixture.environment.sleeper;
    let id = fixture.start(&others_sandbox, &other, &other.container("app", 0, sleeper)).await?;
    let seen = fixture.inspect(&one).await?;
    let sandboxes: Vec<_> = seen.sandboxes.iter().map(|s| &s.id).collect();
    ensure!(sandboxes == [&sandbox], "it shows {sandboxes:?}");
    ensure!(seen.containers.is_empty(), "it shows {:?}", seen.containers);
    fixture.runtime.containers.stop(&id, Duration::ZERO).await?;
    Ok(())
}

pub(super) async fn events_are_reported_or_said_to_be_missing(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let (sender, mut receiver) = mpsc::channel(EVENTS_MAX);
    let reported = fixture.runtime.view.events(sender);
    let timeout = tokio::time::sleep(fixture.environment.timeout);
    if fixture.environment.offers.tells_events {
        tokio::select! {
            ended = reported => Err(format!("the runtime, which runs, ended its events with {ended:?}").into()),
            seen = act_until_reported(fixture, &pod, &mut receiver) => seen,
            () = timeout => Err("containers were started, and nothing was reported".to_owned().into()),
        }
    } else {
        tokio::select! {
            ended = reported => {
                ensure!(matches!(ended, Err(RuntimeError::Unimplemented { .. })), "the answer is {ended:?}");
                Ok(())
            }
            () = timeout => Err("a runtime without events didn't say so".to_owned().into()),
        }
    }
}

/// Starts containers until one is reported: nothing says when the listening has begun.
async fn act_until_reported(
    fixture: &Fixture<'_>,
    pod: &TestPod,
    events: &mut mpsc::Receiver<RuntimeEvent>,
) -> Verdict {
    let sandbox = fixture.run(pod).await?;
    let mut ids = Vec::new();
    let mut attempt = 0;
    loop {
        let config = pod.container("app", attempt, &fixture.environment.sleeper);
        let id = fixture.start(&sandbox, pod, &config).await?;
        ids.push(id.to_string());
        tokio::time::sleep(POLL_INTERVAL).await;
        while let Ok(event) = events.try_recv() {
            if ids.contains(&event.id) {
                ensure!(event.uid.as_ref() == Some(&pod.uid), "it is reported as one of {:?}", event.uid);
                return Ok(());
            }
        }
        fixture.runtime.containers.stop(&id, Duration::ZERO).await?;
        attempt += 1;
    }
}

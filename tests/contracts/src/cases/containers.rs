//! What is promised of containers.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use witlet_core::runtime::ContainerRunState;

use crate::environment::Processes;
use crate::fixture::{Fixture, Verdict, ensure};

/// Long enough for a process that listens, short enough to wait for one that doesn't.
const GRACE: Duration = Duration::from_secs(1);

/// What a shell reports of a process that was killed: 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// Kernels keep their timers and the clock apart by a little.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

fn processes<'a>(fixture: &Fixture<'a>) -> Verdict<&'a Processes> {
    let processes = fixture.environment.processes.as_ref();
    processes.ok_or_else(|| "the case ran without what it needs".to_owned().into())
}

pub(super) async fn a_container_is_created_runs_and_is_stopped(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);

    let id = fixture.create(&sandbox, &pod, &config).await?;
    let created = fixture.inspect_container(&pod, &id).await?;
    ensure!(created.state == ContainerRunState::Created, "after the creation it is {created:?}");
    ensure!(created.started_at.is_none() && created.finished_at.is_none(), "not started yet: {created:?}");
    ensure!(created.sandbox_id == Some(sandbox), "its sandbox is {:?}", created.sandbox_id);
    ensure!(created.name == "app", "its name is {:?}", created.name);

    fixture.runtime.containers.start(&id).await?;
    let running = fixture.inspect_container(&pod, &id).await?;
    ensure!(running.state == ContainerRunState::Running, "after the start it is {running:?}");
    ensure!(running.finished_at.is_none(), "it runs and has ended: {running:?}");
    ensure!(running.started_at >= Some(created.created_at), "started before it was created: {running:?}");

    fixture.runtime.containers.stop(&id, GRACE).await?;
    let ended = fixture.inspect_container(&pod, &id).await?;
    ensure!(ended.state == ContainerRunState::Exited, "after the stop it is {ended:?}");
    ensure!(ended.started_at == running.started_at, "{running:?} became {ended:?}");
    ensure!(ended.created_at == running.created_at, "{running:?} became {ended:?}");
    ensure!(ended.finished_at >= ended.started_at, "ended before it started: {ended:?}");

    fixture.runtime.containers.remove(&id).await?;
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.containers.is_empty(), "after the removal there is {seen:?}");
    Ok(())
}

pub(super) async fn stopping_and_removing_a_container_may_be_repeated(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let id = fixture.start(&sandbox, &pod, &config).await?;
    for _ in 0..2 {
        fixture.runtime.containers.stop(&id, Duration::ZERO).await?;
    }
    for _ in 0..2 {
        fixture.runtime.containers.remove(&id).await?;
    }
    fixture.runtime.containers.stop(&id, GRACE).await?;
    fixture.runtime.containers.stop(&"no-such-container".into(), GRACE).await?;
    fixture.runtime.containers.remove(&"no-such-container".into()).await?;
    Ok(())
}

pub(super) async fn exit_codes_are_reported(fixture: &Fixture<'_>) -> Verdict {
    let exits_with = &processes(fixture)?.exits_with;
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    for (name, code, reason) in [("ends", 0, "Completed"), ("fails", 7, "Error")] {
        let id = fixture.start(&sandbox, &pod, &pod.container(name, 0, &exits_with(code))).await?;
        let ended = fixture.exited(&pod, &id).await?;
        ensure!(ended.exit_code == code, "{name}: the exit code is {}, not {code}", ended.exit_code);
        ensure!(ended.reason == reason, "{name}: the reason is {:?}, not {reason:?}", ended.reason);
        // A runtime takes the time of a start when it learns of it, which for containerd may be after a short process
        // has ended: nothing is promised about the order of these two.
        let created = Some(ended.created_at);
        ensure!(
            ended.started_at >= created && ended.finished_at >= created,
            "{name}: out of order: {ended:?}"
        );
    }
    Ok(())
}

pub(super) async fn a_process_that_ignores_being_asked_is_killed_after_its_grace(
    fixture: &Fixture<'_>,
) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("stubborn", 0, &processes(fixture)?.ignores_stop);
    let id = fixture.start(&sandbox, &pod, &config).await?;
    let asked = Instant::now();
    fixture.runtime.containers.stop(&id, GRACE).await?;
    let waited = asked.elapsed();
    let ended = fixture.inspect_container(&pod, &id).await?;
    ensure!(ended.state == ContainerRunState::Exited, "after its grace it is {:?}", ended.state);
    ensure!(ended.exit_code == KILLED, "the exit code is {}, not {KILLED}", ended.exit_code);
    ensure!(waited + CLOCK_TOLERANCE >= GRACE, "it had {waited:?} of its {GRACE:?}");
    Ok(())
}

pub(super) async fn output_is_logged_in_the_cri_format(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let Some(writes) = &processes(fixture)?.writes else {
        return Err("the case ran without what it needs".to_owned().into());
    };
    let config = pod.container("writer", 0, writes);
    let id = fixture.start(&sandbox, &pod, &config).await?;
    let ended = fixture.exited(&pod, &id).await?;
    let path = pod.sandbox.log_directory.join("writer").join("0.log");
    ensure!(Path::new(&ended.log_path) == path, "its log is at {:?}, not at {path:?}", ended.log_path);
    // The runtime's writers may end a little after the process.
    let deadline = Instant::now() + fixture.environment.timeout;
    let lines = loop {
        let text = tokio::fs::read_to_string(&path).await?;
        let lines = text.lines().map(log_line).collect::<Result<Vec<_>, _>>()?;
        if lines.len() >= 3 || Instant::now() >= deadline {
            break lines;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let of = |stream: &str| -> Vec<_> {
        lines.iter().filter(|line| line.0 == stream).map(|line| (line.1.as_str(), line.2.as_str())).collect()
    };
    // Text that ended without a line end is a full line for some runtimes and a partial one for others.
    let out = of("stdout");
    ensure!(
        out == [("F", "to stdout"), ("F", "no end")] || out == [("F", "to stdout"), ("P", "no end")],
        "{lines:?}"
    );
    ensure!(of("stderr") == [("F", "to stderr")], "{lines:?}");
    Ok(())
}

/// Stream, tag and text of a line `<RFC 3339 time> <stream> <tag> <text>` (`logs.go` of the CRI).
fn log_line(line: &str) -> Verdict<(String, String, String)> {
    let mut parts = line.splitn(4, ' ');
    let (Some(time), Some(stream), Some(tag), Some(text)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("{line:?} has no four parts").into());
    };
    ensure!(time.parse::<Timestamp>().is_ok(), "{line:?} begins with no RFC 3339 time");
    Ok((stream.to_owned(), tag.to_owned(), text.to_owned()))
}

pub(super) async fn a_container_is_started_again_as_a_new_attempt(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let sleeper = &fixture.environment.sleeper;
    let first = fixture.start(&sandbox, &pod, &pod.container("app", 0, sleeper)).await?;
    fixture.runtime.containers.stop(&first, Duration::ZERO).await?;
    let second = fixture.start(&sandbox, &pod, &pod.container("app", 1, sleeper)).await?;
    let seen = fixture.inspect(&pod).await?;
    let shown: Vec<_> = seen.containers.iter().map(|c| (&c.id, c.restart_count, c.state)).collect();
    let expected = [(&second, 1, ContainerRunState::Running), (&first, 0, ContainerRunState::Exited)];
    ensure!(shown == expected, "there is {shown:?}");
    Ok(())
}

pub(super) async fn a_running_container_may_be_removed(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let id = fixture.start(&sandbox, &pod, &config).await?;
    fixture.runtime.containers.remove(&id).await?;
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.containers.is_empty(), "after the removal there is {seen:?}");
    Ok(())
}

pub(super) async fn containers_of_a_pod_run_side_by_side(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let config = pod.container(name, 0, &fixture.environment.sleeper);
        ids.push(fixture.start(&sandbox, &pod, &config).await?);
    }
    fixture.runtime.containers.stop(&ids[1], GRACE).await?;
    let seen = fixture.inspect(&pod).await?;
    for (name, id, state) in [
        ("one", &ids[0], ContainerRunState::Running),
        ("two", &ids[1], ContainerRunState::Exited),
        ("three", &ids[2], ContainerRunState::Running),
    ] {
        let found = seen.container(name).map(|container| (&container.id, container.state));
        ensure!(found == Some((id, state)), "{name} is {found:?}");
    }
    fixture.runtime.containers.remove(&ids[1]).await?;
    let left = fixture.inspect(&pod).await?.containers.len();
    ensure!(left == 2, "after the removal of one of three there are {left}");
    Ok(())
}

pub(super) async fn a_container_in_no_sandbox_is_refused(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let created = fixture.create(&"no-such-sandbox".into(), &pod, &config).await;
    ensure!(created.is_err(), "there is {created:?}");
    Ok(())
}

pub(super) async fn starting_what_is_not_there_is_not_found(fixture: &Fixture<'_>) -> Verdict {
    let started = fixture.runtime.containers.start(&"no-such-container".into()).await;
    ensure!(
        started.as_ref().is_err_and(witlet_ports::RuntimeError::is_not_found),
        "the answer is {started:?}"
    );
    Ok(())
}

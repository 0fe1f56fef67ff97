//! What is promised of commands in containers.

use std::time::Duration;

use tokio::time::Instant;
use witlet_core::runtime::ContainerRunState;
use witlet_ports::RuntimeError;

use crate::environment::Commands;
use crate::fixture::{Fixture, Verdict, ensure};

/// Long enough to be distinguished from at once, short enough to wait for.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Kernels keep their timers and the clock apart by a little.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

fn commands<'a>(fixture: &Fixture<'a>) -> Verdict<&'a Commands> {
    let commands = fixture.environment.offers.commands.as_ref();
    commands.ok_or_else(|| "the case ran without what it needs".to_owned().into())
}

pub(super) async fn a_command_gives_its_output_and_its_exit_code(fixture: &Fixture<'_>) -> Verdict {
    let commands = commands(fixture)?;
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let id = fixture.start(&sandbox, &pod, &pod.container("app", 0, &commands.commands_in)).await?;
    let containers = &fixture.runtime.containers;
    // With and without a timeout, for 0 means none to the CRI.
    for timeout in [None, Some(fixture.environment.timeout)] {
        let output = containers.exec_sync(&id, &commands.writes, timeout).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        ensure!(stdout.lines().next() == Some("to stdout"), "the standard output is {stdout:?}");
        ensure!(stderr.lines().next() == Some("to stderr"), "the standard error is {stderr:?}");
        ensure!(output.exit_code == 0, "the exit code is {}", output.exit_code);
    }
    let (fails, code) = &commands.fails;
    let output = containers.exec_sync(&id, fails, None).await?;
    ensure!(output.exit_code == *code, "the exit code is {}, not {code}", output.exit_code);
    let seen = fixture.inspect_container(&pod, &id).await?;
    ensure!(seen.state == ContainerRunState::Running, "its own process is {:?}", seen.state);
    Ok(())
}

pub(super) async fn a_command_that_takes_too_long_is_killed(fixture: &Fixture<'_>) -> Verdict {
    let commands = commands(fixture)?;
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let id = fixture.start(&sandbox, &pod, &pod.container("app", 0, &commands.commands_in)).await?;
    let begun = Instant::now();
    let ran = fixture.runtime.containers.exec_sync(&id, &commands.never_ends, Some(TIMEOUT)).await;
    let took = begun.elapsed();
    ensure!(
        matches!(&ran, Err(RuntimeError::DeadlineExceeded { limit, .. }) if *limit == TIMEOUT),
        "the answer is {ran:?}"
    );
    ensure!(took + CLOCK_TOLERANCE >= TIMEOUT, "it had {took:?} of its {TIMEOUT:?}");
    let seen = fixture.inspect_container(&pod, &id).await?;
    ensure!(seen.state == ContainerRunState::Running, "its own process is {:?}", seen.state);
    Ok(())
}

pub(super) async fn commands_in_what_does_not_run_are_refused(fixture: &Fixture<'_>) -> Verdict {
    let containers = &fixture.runtime.containers;
    let command = ["true".to_owned()];
    let ran = containers.exec_sync(&"no-such-container".into(), &command, None).await;
    ensure!(
        ran.as_ref().is_err_and(RuntimeError::is_not_found),
        "nothing is there, and the answer is {ran:?}"
    );
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let id = fixture.create(&sandbox, &pod, &pod.container("app", 0, &fixture.environment.sleeper)).await?;
    let ran = containers.exec_sync(&id, &command, None).await;
    ensure!(ran.is_err(), "it wasn't started, and the answer is {ran:?}");
    Ok(())
}

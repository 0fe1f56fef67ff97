//! What is promised of changes to containers that run: their limits and their logs.

use tokio::time::Instant;
use witlet_core::runtime::{ContainerRunState, LinuxResources};
use witlet_ports::RuntimeError;

use crate::fixture::{Fixture, POLL_INTERVAL, Verdict, ensure};

const MEBIBYTE: i64 = 1024 * 1024;

pub(super) async fn limits_change_and_what_is_not_named_stays(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let mut config = pod.container("app", 0, &fixture.environment.sleeper);
    config.resources = LinuxResources {
        cpu_shares: 512,
        cpu_quota_us: 50_000,
        cpu_period_us: 100_000,
        memory_limit_bytes: 256 * MEBIBYTE,
        ..LinuxResources::default()
    };
    let id = fixture.start(&sandbox, &pod, &config).await?;
    let cpu = LinuxResources { cpu_shares: 256, ..LinuxResources::default() };
    let memory = LinuxResources { memory_limit_bytes: 128 * MEBIBYTE, ..LinuxResources::default() };
    for (change, shares, mebibytes) in [(&cpu, 256, 256), (&memory, 256, 128)] {
        fixture.runtime.containers.update_resources(&id, change).await?;
        let seen = fixture.inspect_container(&pod, &id).await?;
        ensure!(seen.state == ContainerRunState::Running, "after the change it is {:?}", seen.state);
        let memory = mebibytes * MEBIBYTE;
        if let Some(command) = &fixture.environment.offers.prints_memory_limit {
            let output = fixture.runtime.containers.exec_sync(&id, command, None).await?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            ensure!(text.trim().parse() == Ok(memory), "the kernel's limit is {text:?}, not {memory}");
        } else {
            ensure!(seen.resources.is_some(), "the limits can't be seen: {seen:?}");
        }
        if let Some(now) = seen.resources {
            ensure!(now.cpu_shares == shares, "the shares are {}, not {shares}", now.cpu_shares);
            let limit = now.memory_limit_bytes;
            ensure!(limit == memory, "the memory is {limit}, not {memory}");
            ensure!(now.cpu_quota_us == 50_000, "no one named the quota, and it is {}", now.cpu_quota_us);
        }
    }
    Ok(())
}

pub(super) async fn limits_of_what_is_not_there_are_not_found(fixture: &Fixture<'_>) -> Verdict {
    let change = LinuxResources { cpu_shares: 256, ..LinuxResources::default() };
    let changed = fixture.runtime.containers.update_resources(&"no-such-container".into(), &change).await;
    ensure!(changed.as_ref().is_err_and(RuntimeError::is_not_found), "the answer is {changed:?}");
    Ok(())
}

pub(super) async fn a_log_that_was_moved_away_is_written_again(fixture: &Fixture<'_>) -> Verdict {
    let writes_on = fixture.environment.offers.writes_on.as_ref();
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let workload = writes_on.unwrap_or(&fixture.environment.sleeper);
    let id = fixture.start(&sandbox, &pod, &pod.container("app", 0, workload)).await?;
    let folder = pod.sandbox.log_directory.join("app");
    let (log, moved) = (folder.join("0.log"), folder.join("0.log.moved"));
    tokio::fs::rename(&log, &moved).await?;
    fixture.runtime.containers.reopen_log(&id).await?;
    ensure!(tokio::fs::try_exists(&log).await?, "after the reopening there is no {}", log.display());
    if writes_on.is_some() {
        let deadline = Instant::now() + fixture.environment.timeout;
        while tokio::fs::metadata(&log).await?.len() == 0 {
            ensure!(Instant::now() < deadline, "nothing is written to {}", log.display());
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

pub(super) async fn reopening_the_log_of_what_is_not_there_is_not_found(fixture: &Fixture<'_>) -> Verdict {
    let reopened = fixture.runtime.containers.reopen_log(&"no-such-container".into()).await;
    ensure!(reopened.as_ref().is_err_and(RuntimeError::is_not_found), "the answer is {reopened:?}");
    Ok(())
}

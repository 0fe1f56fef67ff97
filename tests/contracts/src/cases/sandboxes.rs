//! What is promised of sandboxes.

use witlet_core::runtime::{ContainerRunState, NamespaceMode, SandboxState};

use crate::fixture::{Fixture, Verdict, ensure};

pub(super) async fn a_sandbox_runs_stops_and_goes(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let id = fixture.run(&pod).await?;

    let listed = fixture.listed(&pod).await?.ok_or_else(|| "a sandbox that runs isn't listed".to_owned())?;
    ensure!(listed.sandboxes.len() == 1 && listed.sandboxes[0].id == id, "listed is {listed:?}");
    ensure!(listed.sandboxes[0].state == SandboxState::Ready, "listed is {listed:?}");
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.sandboxes.len() == 1 && seen.sandboxes[0].id == id, "seen is {seen:?}");
    ensure!(seen.sandboxes[0].state == SandboxState::Ready, "seen is {seen:?}");
    ensure!(seen.sandboxes[0].attempt == 0, "the first sandbox has attempt {}", seen.sandboxes[0].attempt);
    ensure!(seen.sandboxes[0].created_at == listed.sandboxes[0].created_at, "{seen:?} and {listed:?} differ");

    fixture.runtime.sandboxes.stop(&id).await?;
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.sandboxes.len() == 1, "a stopped sandbox is still there until it is removed: {seen:?}");
    ensure!(seen.sandboxes[0].state == SandboxState::NotReady, "after the stop there is {seen:?}");
    ensure!(seen.ips.is_empty(), "a stopped pod has no addresses: {seen:?}");

    fixture.runtime.sandboxes.remove(&id).await?;
    let listed = fixture.listed(&pod).await?;
    ensure!(listed.is_none(), "after the removal there is {listed:?}");
    Ok(())
}

pub(super) async fn stopping_and_removing_a_sandbox_may_be_repeated(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let id = fixture.run(&pod).await?;
    for _ in 0..2 {
        fixture.runtime.sandboxes.stop(&id).await?;
    }
    for _ in 0..2 {
        fixture.runtime.sandboxes.remove(&id).await?;
    }
    fixture.runtime.sandboxes.stop(&id).await?;
    fixture.runtime.sandboxes.stop(&"no-such-sandbox".into()).await?;
    fixture.runtime.sandboxes.remove(&"no-such-sandbox".into()).await?;
    Ok(())
}

pub(super) async fn sandboxes_have_addresses_of_their_own(fixture: &Fixture<'_>) -> Verdict {
    let (one, other) = (fixture.pod(), fixture.pod());
    fixture.run(&one).await?;
    fixture.run(&other).await?;
    let (one, other) = (fixture.inspect(&one).await?, fixture.inspect(&other).await?);
    ensure!(!one.ips.is_empty() && !other.ips.is_empty(), "no address: {one:?}, {other:?}");
    ensure!(one.ips == one.sandboxes[0].ips, "the pod's addresses aren't its sandbox's: {one:?}");
    ensure!(one.ips.iter().all(|ip| !other.ips.contains(ip)), "shared: {:?}, {:?}", one.ips, other.ips);
    Ok(())
}

pub(super) async fn a_sandbox_on_the_hosts_network_has_no_address_of_its_own(
    fixture: &Fixture<'_>,
) -> Verdict {
    let mut pod = fixture.pod();
    pod.sandbox.network = NamespaceMode::Node;
    pod.sandbox.hostname.clear();
    fixture.run(&pod).await?;
    let seen = fixture.inspect(&pod).await?;
    ensure!(
        seen.sandboxes[0].network == NamespaceMode::Node,
        "the network is {:?}",
        seen.sandboxes[0].network
    );
    ensure!(seen.ips.is_empty(), "it has {:?}", seen.ips);
    Ok(())
}

pub(super) async fn a_pod_may_have_a_newer_sandbox_next_to_a_stopped_one(fixture: &Fixture<'_>) -> Verdict {
    let mut pod = fixture.pod();
    let first = fixture.run(&pod).await?;
    fixture.runtime.sandboxes.stop(&first).await?;
    pod.sandbox.attempt = 1;
    let second = fixture.run(&pod).await?;
    let seen = fixture.inspect(&pod).await?;
    let shown: Vec<_> = seen.sandboxes.iter().map(|s| (&s.id, s.attempt, s.state)).collect();
    let expected = [(&second, 1, SandboxState::Ready), (&first, 0, SandboxState::NotReady)];
    ensure!(shown == expected, "there is {shown:?}");
    Ok(())
}

pub(super) async fn stopping_a_sandbox_ends_what_runs_in_it(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let id = fixture.start(&sandbox, &pod, &config).await?;
    fixture.runtime.sandboxes.stop(&sandbox).await?;
    let seen = fixture.inspect_container(&pod, &id).await?;
    ensure!(seen.state == ContainerRunState::Exited, "the container is {:?}", seen.state);
    Ok(())
}

pub(super) async fn removing_a_sandbox_removes_its_containers(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    fixture.start(&sandbox, &pod, &pod.container("runs", 0, &fixture.environment.sleeper)).await?;
    fixture.create(&sandbox, &pod, &pod.container("waits", 0, &fixture.environment.sleeper)).await?;
    fixture.runtime.sandboxes.stop(&sandbox).await?;
    fixture.runtime.sandboxes.remove(&sandbox).await?;
    let listed = fixture.listed(&pod).await?;
    ensure!(listed.is_none(), "after the removal there is {listed:?}");
    Ok(())
}

pub(super) async fn a_second_sandbox_of_the_same_name_and_attempt_is_refused(
    fixture: &Fixture<'_>,
) -> Verdict {
    let pod = fixture.pod();
    let first = fixture.run(&pod).await?;
    let second = fixture.runtime.sandboxes.run(&pod.sandbox).await;
    ensure!(second.is_err(), "next to {first} there is {second:?}");
    let seen = fixture.inspect(&pod).await?;
    ensure!(seen.sandboxes.len() == 1, "the refused one left {seen:?}");
    Ok(())
}

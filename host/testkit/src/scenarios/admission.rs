//! Pods that may not run, or not yet.

use super::world::{NodeSnapshot, Role, Unfulfilled, World, ensure, eventually, plays};
use crate::pod;

type Verdict = Result<(), Unfulfilled>;

/// For how long a pod is put off, each if the one before wasn't seen.
const DEFERRED_SECONDS: [u32; 3] = [5, 20, 60];

pub(super) async fn a_pod_that_asks_for_too_much_is_rejected_and_nothing_of_it_runs(
    world: &mut dyn World,
) -> Verdict {
    let greedy = pod("greedy").container(plays(world, "app", Role::Sleeper).request("cpu", "100000")).build();
    let modest = pod("modest").grace_seconds(1).container(plays(world, "app", Role::Sleeper)).build();
    world.put("greedy", vec![greedy]).await;
    world.put("modest", vec![modest]).await;
    let seen = eventually(world, "one pod failed and the other runs", |seen| {
        seen.phase("greedy") == "Failed" && seen.is_ready("modest") && seen.runtime.is_some()
    })
    .await?;
    let status = seen.pod("greedy").and_then(|pod| pod.status.clone()).unwrap_or_default();
    // Static pods are critical: capacity would be freed for them, and there isn't any that could be.
    let reason = status.reason.as_deref();
    ensure(reason == Some("UnexpectedAdmissionError"), || format!("the reason is another: {seen}"))?;
    let message = status.message.unwrap_or_default();
    let says_what_lacks = message.contains("no set of running pods found to reclaim resources: [(res: cpu,");
    ensure(message.starts_with("Pod was rejected: ") && says_what_lacks, || {
        format!("the message is {message:?}")
    })?;
    ensure(seen.runtime_has_nothing_of("greedy"), || format!("something of it was started: {seen}"))
}

pub(super) async fn a_pod_whose_host_port_is_taken_is_rejected(world: &mut dyn World) -> Verdict {
    // Whether the first pod can run with a host port is the runtime's affair: once admitted, it has the port.
    let takes = |world: &dyn World, name: &str| {
        pod(name).grace_seconds(1).container(plays(world, "app", Role::Sleeper).host_port(23_080)).build()
    };
    let first = takes(world, "first");
    world.put("first", vec![first]).await;
    // Who is known isn't let in yet: a pod whose verdict takes long is overtaken by those behind it.
    eventually(world, "the first is admitted", |seen| seen.is_admitted("first", "app")).await?;
    let second = takes(world, "second");
    world.put("second", vec![second]).await;
    let has_failed = |seen: &NodeSnapshot| seen.phase("second") == "Failed" && seen.runtime.is_some();
    let seen = eventually(world, "the second failed", has_failed).await?;
    let reason =
        seen.pod("second").and_then(|pod| pod.status.as_ref()).and_then(|status| status.reason.as_deref());
    ensure(reason == Some("NodePorts"), || format!("the reason is another: {seen}"))?;
    ensure(seen.phase("first") != "Failed", || format!("the first was rejected, too: {seen}"))?;
    ensure(seen.runtime_has_nothing_of("second"), || format!("something of it was started: {seen}"))
}

pub(super) async fn a_deferred_pod_is_blocked_and_runs_once_it_is_admitted(world: &mut dyn World) -> Verdict {
    let is_blocked = |seen: &NodeSnapshot| seen.waiting_reason("later", "app") == Some("Blocked");
    // On a busy machine a short wait may be over before the case checks: then there has to be a longer one.
    for seconds in DEFERRED_SECONDS {
        let manifest = pod("later").grace_seconds(1).container(plays(world, "app", Role::Sleeper)).build();
        let Some(manifest) = world.deferred(manifest, seconds) else { return nothing_defers() };
        world.put("later", vec![manifest]).await;
        let seen = eventually(world, "the pod is blocked, or runs", |seen| {
            is_blocked(seen) || seen.is_ready("later")
        })
        .await?;
        let was_blocked = is_blocked(&seen);
        if was_blocked {
            ensure(seen.phase("later") == "Pending", || format!("blocked, and its phase: {seen}"))?;
            // The runtime is checked last, so that the pod may be admitted by then: only if it is blocked still
            // was something started too early.
            let now = eventually(world, "the agent answers", |_| true).await?;
            let early = !seen.in_runtime("later").is_empty() && is_blocked(&now);
            ensure(!early, || format!("something of it was started: {seen}"))?;
        }
        eventually(world, "the pod runs", |seen| seen.is_ready("later")).await?;
        if was_blocked {
            return Ok(());
        }
        world.remove("later").await;
        eventually(world, "the pod is gone", |seen| {
            seen.pod("later").is_none() && seen.runtime_has_nothing_of("later")
        })
        .await?;
    }
    Err(Unfulfilled::Wrong(format!("it was never blocked, whether for {DEFERRED_SECONDS:?} seconds")))
}

pub(super) async fn a_deferred_pod_can_be_removed(world: &mut dyn World) -> Verdict {
    let manifest = pod("never").container(plays(world, "app", Role::Sleeper)).build();
    let Some(manifest) = world.deferred(manifest, 100_000) else { return nothing_defers() };
    world.put("never", vec![manifest]).await;
    eventually(world, "the pod is blocked", |seen| seen.waiting_reason("never", "app") == Some("Blocked"))
        .await?;
    world.remove("never").await;
    let is_gone = |seen: &NodeSnapshot| seen.pod("never").is_none() && seen.runtime.is_some();
    let seen = eventually(world, "the pod is gone", is_gone).await?;
    ensure(seen.runtime_has_nothing_of("never"), || format!("something of it was started: {seen}"))
}

fn nothing_defers() -> Verdict {
    Err(Unfulfilled::NotHere("no handler of this world defers pods".to_owned()))
}

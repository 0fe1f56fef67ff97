//! The agent and the runtime go and come back.

use std::collections::BTreeMap;

use witlet_core::runtime::ContainerRunState;

use super::world::{NodeSnapshot, Role, Unfulfilled, World, ensure, eventually, plays};
use crate::pod;

type Verdict = Result<(), Unfulfilled>;

/// Enough pods to see one that was forgotten.
const PODS: usize = 10;

async fn run_pods(world: &mut dyn World) -> Result<NodeSnapshot, Unfulfilled> {
    for n in 0..PODS {
        let name = format!("p{n}");
        let manifest = pod(&name).grace_seconds(1).container(plays(world, "app", Role::Sleeper)).build();
        world.put(&name, vec![manifest]).await;
    }
    eventually(world, "all pods run", |seen| all_ready(seen) && seen.runtime.is_some()).await
}

fn all_ready(seen: &NodeSnapshot) -> bool {
    (0..PODS).all(|n| seen.is_ready(&format!("p{n}")))
}

/// Every sandbox and container of the runtime, with the state of each container.
fn inventory(seen: &NodeSnapshot) -> BTreeMap<String, Option<ContainerRunState>> {
    let pods = || seen.runtime.iter().flatten();
    let sandboxes = pods().flat_map(|pod| &pod.sandboxes).map(|s| (s.id.to_string(), None));
    let containers = pods().flat_map(|pod| &pod.containers);
    sandboxes.chain(containers.map(|c| (c.id.to_string(), Some(c.state)))).collect()
}

pub(super) async fn an_agent_that_was_killed_takes_its_pods_up_again(world: &mut dyn World) -> Verdict {
    let before = run_pods(world).await?;
    world.kill_agent().await;
    world.start_agent().await;
    eventually(world, "all pods are ready again", all_ready).await?;
    // One more pod comes and goes, so that the new agent has surely been through its whole round.
    let manifest = pod("late").grace_seconds(1).container(plays(world, "app", Role::Sleeper)).build();
    world.put("late", vec![manifest]).await;
    eventually(world, "a new pod runs", |seen| seen.is_ready("late")).await?;
    world.remove("late").await;
    let after = eventually(world, "the new pod is gone", |seen| {
        seen.pod("late").is_none() && seen.runtime_has_nothing_of("late")
    })
    .await?;
    ensure(all_ready(&after), || format!("not all pods are ready: {after}"))?;
    let restarts: i32 = (0..PODS).map(|n| after.restarts(&format!("p{n}"), "app")).sum();
    ensure(restarts == 0, || format!("{restarts} restarts: {after}"))?;
    let (was, is) = (inventory(&before), inventory(&after));
    ensure(was == is, || format!("the runtime had {was:?} and has {is:?}"))
}

pub(super) async fn a_pod_removed_while_the_agent_was_away_is_ended(world: &mut dyn World) -> Verdict {
    let manifest = pod("orphan").grace_seconds(1).container(plays(world, "app", Role::Sleeper)).build();
    world.put("orphan", vec![manifest]).await;
    eventually(world, "it runs", |seen| seen.is_ready("orphan")).await?;
    world.kill_agent().await;
    world.remove("orphan").await;
    world.start_agent().await;
    eventually(world, "nothing is left of it", |seen| {
        seen.node_ready() == Some(true) && seen.runtime_has_nothing_of("orphan")
    })
    .await?;
    Ok(())
}

pub(super) async fn a_runtime_that_was_away_is_reported_and_nothing_is_lost(
    world: &mut dyn World,
) -> Verdict {
    let before = run_pods(world).await?;
    eventually(world, "the node is ready", |seen| seen.node_ready() == Some(true)).await?;
    world.stop_runtime().await.map_err(Unfulfilled::NotHere)?;
    eventually(world, "the node isn't ready", |seen| seen.node_ready() == Some(false)).await?;
    world.start_runtime().await;
    let after = eventually(world, "all is well again", |seen| {
        seen.node_ready() == Some(true) && all_ready(seen) && inventory(seen) == inventory(&before)
    })
    .await?;
    let restarts: i32 = (0..PODS).map(|n| after.restarts(&format!("p{n}"), "app")).sum();
    ensure(restarts == 0, || format!("{restarts} restarts: {after}"))
}

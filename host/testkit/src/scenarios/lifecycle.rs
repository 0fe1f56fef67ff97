//! Pods come, run, crash, are edited and go.

use k8s_openapi::api::core::v1::Pod;
use witlet_core::runtime::ContainerRunState;

use super::world::{Role, Unfulfilled, World, ensure, eventually, plays};
use crate::{PodBuilder, pod};

type Verdict = Result<(), Unfulfilled>;

/// A pod with one container `app` in this role.
fn one(world: &dyn World, name: &str, role: Role) -> PodBuilder {
    pod(name).grace_seconds(5).container(plays(world, "app", role))
}

fn uid(pod: Option<&Pod>) -> Option<String> {
    pod.and_then(|pod| pod.metadata.uid.clone())
}

pub(super) async fn a_pod_from_a_manifest_runs(world: &mut dyn World) -> Verdict {
    let manifest = one(world, "web", Role::Sleeper).build();
    world.put("web", vec![manifest]).await;
    let seen = eventually(world, "web is ready", |seen| seen.is_ready("web")).await?;
    ensure(seen.phase("web") == "Running", || format!("a ready pod that doesn't run: {seen}"))?;
    ensure(seen.restarts("web", "app") == 0, || format!("restarted without need: {seen}"))?;
    let containers = seen.in_runtime("web").iter().map(|pod| pod.containers.len()).sum::<usize>();
    ensure(containers == 1, || format!("not one container: {seen}"))
}

pub(super) async fn a_container_that_ends_well_is_treated_by_its_restart_policy(
    world: &mut dyn World,
) -> Verdict {
    let ends = |policy: &str, name: &str| one(world, name, Role::Exits(0)).restart_policy(policy).build();
    let pods = vec![ends("Never", "never"), ends("OnFailure", "on-failure"), ends("Always", "always")];
    world.put("ends", pods).await;
    for name in ["never", "on-failure"] {
        let seen = eventually(world, "the pod succeeded", |seen| seen.phase(name) == "Succeeded").await?;
        ensure(seen.restarts(name, "app") == 0, || format!("{name} was restarted: {seen}"))?;
    }
    eventually(world, "the third is restarted", |seen| seen.restarts("always", "app") >= 1).await?;
    Ok(())
}

pub(super) async fn a_container_that_fails_is_treated_by_its_restart_policy(
    world: &mut dyn World,
) -> Verdict {
    let fails = |policy: &str, name: &str| one(world, name, Role::Exits(3)).restart_policy(policy).build();
    let pods = vec![fails("Never", "never"), fails("OnFailure", "on-failure"), fails("Always", "always")];
    world.put("fails", pods).await;
    let seen = eventually(world, "the pod failed", |seen| seen.phase("never") == "Failed").await?;
    let state = seen.container("never", "app").and_then(|status| status.state.clone());
    let code = state.and_then(|state| state.terminated).map(|terminated| terminated.exit_code);
    ensure(code == Some(3), || format!("its exit code isn't 3: {seen}"))?;
    for name in ["on-failure", "always"] {
        eventually(world, "it is restarted", |seen| seen.restarts(name, "app") >= 1).await?;
    }
    Ok(())
}

pub(super) async fn a_crashing_container_is_restarted_with_a_delay(world: &mut dyn World) -> Verdict {
    let manifest = one(world, "crasher", Role::Exits(3)).build();
    world.put("crasher", vec![manifest]).await;
    let seen = eventually(world, "it waits for a delay to end", |seen| {
        seen.waiting_reason("crasher", "app") == Some("CrashLoopBackOff")
    })
    .await?;
    ensure(seen.phase("crasher") == "Running", || format!("its phase: {seen}"))?;
    let message = seen.container("crasher", "app").and_then(|status| status.state.clone());
    let message = message.and_then(|state| state.waiting).and_then(|waiting| waiting.message);
    let is_reported =
        message.is_some_and(|message| message.starts_with("back-off ") && message.contains("container=app"));
    ensure(is_reported, || format!("the delay isn't reported: {seen}"))?;
    eventually(world, "it was restarted twice", |seen| seen.restarts("crasher", "app") >= 2).await?;
    Ok(())
}

pub(super) async fn a_removed_manifest_stops_and_removes_the_pod(world: &mut dyn World) -> Verdict {
    let (gone, stays) =
        (one(world, "gone", Role::Sleeper).build(), one(world, "stays", Role::Sleeper).build());
    world.put("gone", vec![gone]).await;
    world.put("stays", vec![stays]).await;
    let before =
        eventually(world, "both run", |seen| seen.is_ready("gone") && seen.is_ready("stays")).await?;
    world.remove("gone").await;
    let after = eventually(world, "nothing is left of the pod", |seen| {
        seen.pod("gone").is_none() && seen.runtime_has_nothing_of("gone")
    })
    .await?;
    ensure(after.is_ready("stays"), || format!("the other pod isn't ready: {after}"))?;
    let containers = |pods: Vec<_>| format!("{pods:?}");
    let same = containers(before.in_runtime("stays")) == containers(after.in_runtime("stays"));
    ensure(same, || format!("the other pod was touched: {after}"))
}

pub(super) async fn a_container_that_ignores_being_asked_is_killed_after_its_grace(
    world: &mut dyn World,
) -> Verdict {
    let manifest = one(world, "stubborn", Role::IgnoresStop).grace_seconds(2).build();
    world.put("stubborn", vec![manifest]).await;
    eventually(world, "it runs", |seen| seen.is_ready("stubborn")).await?;
    world.remove("stubborn").await;
    eventually(world, "nothing is left of it", |seen| {
        seen.pod("stubborn").is_none() && seen.runtime_has_nothing_of("stubborn")
    })
    .await?;
    Ok(())
}

pub(super) async fn an_edited_manifest_is_a_new_pod_after_the_old_one_ended(
    world: &mut dyn World,
) -> Verdict {
    let old = one(world, "edited", Role::IgnoresStop).grace_seconds(3).build();
    world.put("edited", vec![old]).await;
    let before = eventually(world, "the old pod runs", |seen| seen.is_ready("edited")).await?;
    let old_uid = uid(before.pod("edited"));
    let new = one(world, "edited", Role::Sleeper).build();
    world.put("edited", vec![new]).await;
    // At no time may two pods of one name run.
    let both = |seen: &super::world::NodeSnapshot| {
        let runs = |pod: &&witlet_core::runtime::RuntimePod| {
            pod.containers.iter().any(|container| container.state == ContainerRunState::Running)
        };
        seen.in_runtime("edited").into_iter().filter(runs).count() > 1
    };
    let after = eventually(world, "the new pod runs, or runs next to the old one", |seen| {
        let is_new = seen.pods.iter().any(|pod| uid(Some(pod)) != old_uid && pod.metadata.uid.is_some());
        let old_gone = !seen.pods.iter().any(|pod| uid(Some(pod)) == old_uid);
        both(seen) || (is_new && old_gone && seen.is_ready("edited"))
    })
    .await?;
    ensure(!both(&after), || format!("old and new ran at the same time: {after}"))
}

pub(super) async fn an_edited_manifest_with_a_fixed_uid_restarts_only_the_changed_container(
    world: &mut dyn World,
) -> Verdict {
    let manifest = |world: &dyn World, mode: &str| {
        pod("updated")
            .uid("2b6a5f0e-7c1d-4f4e-9b55-0f0a5c1f7a11")
            .grace_seconds(5)
            .container(plays(world, "changes", Role::Sleeper).env("MODE", mode))
            .container(plays(world, "stays", Role::Sleeper))
            .build()
    };
    let old = manifest(world, "old");
    world.put("updated", vec![old]).await;
    let before = eventually(world, "it runs", |seen| seen.is_ready("updated")).await?;
    let new = manifest(world, "new");
    world.put("updated", vec![new]).await;
    let after = eventually(world, "the changed container was restarted", |seen| {
        seen.restarts("updated", "changes") == 1 && seen.is_ready("updated")
    })
    .await?;
    let id = |seen: &super::world::NodeSnapshot| {
        seen.container("updated", "stays").and_then(|s| s.container_id.clone())
    };
    ensure(id(&before) == id(&after) && id(&after).is_some(), || {
        format!("the other was restarted: {after}")
    })?;
    ensure(uid(before.pod("updated")) == uid(after.pod("updated")), || format!("another pod: {after}"))
}

//! What the runtime and the disk still have of pods that no longer need it: decided here, removed by a task beside
//! the loop. One failure doesn't stop the rest; the next round tries again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use witlet_core::cgroup::{ResourceConfig, cpu_shares};
use witlet_core::container::gc::{DeadContainer, Garbage, GcInput, GcPolicy, PodNeed, collect};
use witlet_core::error::one_line;
use witlet_core::pod::lifecycle::Need;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::{ContainerId, ContainerRunState, RuntimePod, SandboxId, SandboxState};
use witlet_ports::{ContainerFiles, PodFiles, Runtime, Volumes};

use crate::cgroups::{CgroupManager, CgroupState};
use crate::config::REMOVALS_MAX;
use crate::removals::Removals;

/// A container that was made so lately may be about to start, and isn't counted as dead: upstream collects every minute and
/// seldom meets one.
const ABOUT_TO_START: SignedDuration = SignedDuration::from_secs(10);
/// What a container gets to end of which nobody knows whether it runs, before it is removed.
const UNKNOWN_GRACE: Duration = Duration::from_secs(2);
/// Volumes and folders of a pod are waited for so long in one round. A mount that hangs must not hold up the others.
const FOLDERS_OF_POD_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CleanUp {
    /// Pods that nobody wants and that still run.
    pub(crate) kill: Vec<(PodUid, PodFullName)>,
    /// Dead containers in sandboxes that stay.
    pub(crate) containers: Vec<DeadContainer>,
    /// Dead sandboxes, with all that is in them.
    pub(crate) sandboxes: Vec<SandboxId>,
}

/// Whether anything of the pod is alive.
pub(crate) fn is_alive(pod: &RuntimePod) -> bool {
    pod.containers.iter().any(|container| container.state == ContainerRunState::Running)
        || pod.sandboxes.iter().any(|sandbox| sandbox.state == SandboxState::Ready)
}

/// Decides what of these pods is to go. How many dead containers stay is `policy`'s, whatever the need; none of pods
/// that have ended if the node needs the room (`evict_ended`).
pub(crate) fn plan(
    listed: &[RuntimePod],
    need: impl Fn(&PodUid) -> Need,
    policy: GcPolicy,
    evict_ended: bool,
    now: Timestamp,
) -> CleanUp {
    let mut kill = Vec::new();
    let mut needs = BTreeMap::new();
    for pod in listed {
        let need = match (need(&pod.uid), is_alive(pod)) {
            (Need::Kept, _) | (Need::Ended | Need::Returning, true) => PodNeed::Wanted,
            (Need::Ended, false) => PodNeed::Ended,
            (Need::Unwanted, true) => {
                kill.push((pod.uid.clone(), PodFullName::new(&pod.namespace, &pod.name)));
                PodNeed::Wanted
            }
            (Need::Unwanted | Need::Returning, false) => PodNeed::Gone,
        };
        needs.insert(pod.uid.clone(), need);
    }
    let Garbage { mut containers, sandboxes } = collect(GcInput {
        pods: listed,
        needs: &needs,
        // Before, each pod is one that is kept.
        sources_ready: true,
        evict_ended,
        policy: GcPolicy { age_min: policy.age_min.max(ABOUT_TO_START), ..policy },
        now,
    });
    // These go with their sandbox, in one call.
    let going: BTreeSet<&SandboxId> = sandboxes.iter().collect();
    let all = listed.iter().flat_map(|pod| &pod.containers);
    let in_going = all.filter(|container| going.contains(&container.sandbox_id)).map(|c| &c.id);
    let in_going: BTreeSet<&ContainerId> = in_going.collect();
    containers.retain(|dead| !in_going.contains(&dead.id));
    CleanUp { kill, containers, sandboxes }
}

/// The disk, part by part.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) files: Arc<dyn PodFiles>,
    pub(crate) volumes: Arc<dyn Volumes>,
    pub(crate) container_files: Arc<dyn ContainerFiles>,
    pub(crate) removals: Arc<Removals>,
    pub(crate) cgroups: Arc<CgroupManager>,
}

/// Removes what is to go, containers with their `logs`, and the folders of pods that nobody knows. `is_known` is asked
/// once the folders are listed, for pods may have come since the clean-up was decided. Links to logs of the `running`
/// containers stay, be they broken.
pub(crate) async fn carry_out(
    clean_up: CleanUp,
    mut logs: BTreeMap<ContainerId, PathBuf>,
    is_known: impl Fn(&PodUid) -> bool,
    running: &[ContainerId],
    runtime: Runtime,
    machine: Machine,
) {
    let files = &machine.files;
    // Before it is asked which pods there are: one that comes meanwhile has none in this list, or is known.
    let cgroups = machine.cgroups.pods().await;
    let containers = clean_up.containers.into_iter().map(|dead| {
        let log = logs.remove(&dead.id);
        remove_container(runtime.clone(), files.clone(), dead, log)
    });
    stream::iter(containers).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    for (container, log) in logs {
        remove_log(&**files, &container, &log).await;
    }
    let sandboxes = clean_up.sandboxes.into_iter().map(|id| remove_sandbox(runtime.clone(), id));
    stream::iter(sandboxes).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    remove_folders(&is_known, &machine).await;
    remove_cgroups(cgroups, &is_known, &machine).await;
    if let Err(error) = machine.container_files.remove_dead_links(running).await {
        tracing::warn!(%error, "removing dead links to logs failed");
    }
}

/// Folders go once nothing is mounted in them any more.
async fn remove_folders(is_known: &impl Fn(&PodUid) -> bool, machine: &Machine) {
    let on_disk = match machine.files.list().await {
        Ok(on_disk) => on_disk,
        Err(error) => {
            tracing::warn!(%error, "listing pod folders failed");
            return;
        }
    };
    let removals = on_disk.into_iter().map(|uid| remove_folders_of(uid, is_known, machine));
    stream::iter(removals).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
}

async fn remove_folders_of(uid: PodUid, is_known: impl Fn(&PodUid) -> bool, machine: &Machine) {
    let Some(_removal) = machine.removals.begin(&uid).filter(|_| !is_known(&uid)) else { return };
    let removing = async {
        if let Err(error) = machine.volumes.tear_down(&uid).await {
            tracing::warn!(%uid, error = one_line(&error), "giving up an orphaned pod's volumes failed");
            return;
        }
        if let Err(error) = machine.files.remove(&uid).await {
            tracing::warn!(%uid, %error, "removing a pod's folders failed");
        }
    };
    if tokio::time::timeout(FOLDERS_OF_POD_MAX, removing).await.is_err() {
        tracing::warn!(%uid, "removing a pod's volumes and folders takes long, and is tried again");
    }
}

/// Cgroups of pods that aren't known go with all that runs in them, once the pods' volumes are gone: memory that these hold would
/// count for the tier. Until then what runs in them gets as little CPU as can be.
async fn remove_cgroups(
    cgroups: BTreeMap<PodUid, String>,
    is_known: &impl Fn(&PodUid) -> bool,
    machine: &Machine,
) {
    let CgroupState::Kept(kept) = machine.cgroups.state() else { return };
    let orphans: Vec<_> = cgroups.into_iter().filter(|(uid, _)| !is_known(uid)).collect();
    if orphans.is_empty() {
        return;
    }
    let with_folders: BTreeSet<PodUid> = match machine.files.list().await {
        Ok(on_disk) => on_disk.into_iter().collect(),
        Err(error) => {
            tracing::warn!(%error, "listing pod folders failed");
            return;
        }
    };
    let removals = orphans.into_iter().map(|(uid, path)| {
        let (port, has_folder) = (kept.port.clone(), with_folders.contains(&uid));
        async move {
            // A pod that comes back with this UID waits.
            let Some(_removal) = machine.removals.begin(&uid).filter(|_| !is_known(&uid)) else { return };
            let done = match has_folder {
                true => {
                    let least =
                        ResourceConfig { cpu_shares: Some(cpu_shares(0)), ..ResourceConfig::default() };
                    port.update(&path, &least).await
                }
                false => {
                    tracing::info!(%uid, cgroup = path, "Orphaned pod found, removing pod cgroups");
                    port.remove(&path).await
                }
            };
            if let Err(error) = done {
                tracing::warn!(%uid, cgroup = path, %error, "Failed to clean up an orphaned pod's cgroup");
            }
        }
    });
    stream::iter(removals).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
}

/// The log goes first, as upstream's does: should the agent end in between, the container is still there to be found.
async fn remove_container(
    runtime: Runtime,
    files: Arc<dyn PodFiles>,
    dead: DeadContainer,
    log: Option<PathBuf>,
) {
    let DeadContainer { id, stop_first } = dead;
    if stop_first && let Err(error) = runtime.containers.stop(&id, UNKNOWN_GRACE).await {
        tracing::warn!(container = %id, %error, "stopping a container that nobody knows the state of failed");
        return;
    }
    if let Some(log) = log {
        remove_log(&*files, &id, &log).await;
    }
    if let Err(error) = runtime.containers.remove(&id).await {
        tracing::warn!(container = %id, %error, "removing a dead container failed");
    }
}

async fn remove_log(files: &dyn PodFiles, container: &ContainerId, log: &Path) {
    if let Err(error) = files.remove_log(log).await {
        tracing::warn!(%container, %error, "removing a dead container's log failed");
    }
}

async fn remove_sandbox(runtime: Runtime, id: SandboxId) {
    let removed = match runtime.sandboxes.stop(&id).await {
        Ok(()) => runtime.sandboxes.remove(&id).await,
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        tracing::warn!(sandbox = %id, %error, "removing a dead sandbox failed");
    }
}

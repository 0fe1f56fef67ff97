//! What the runtime and the disk still have of pods that no longer need it: decided here, removed by a task beside
//! the loop. One failure doesn't stop the rest; the next round tries again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::{ContainerId, ContainerRunState, RuntimePod, SandboxId, SandboxState};
use witlet_ports::{PodFiles, Runtime};

use crate::config::REMOVALS_MAX;

#[cfg(test)]
mod tests;

/// How the agent stands to a pod that the runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is looked after, or waits to be judged: what it needs stays.
    Kept,
    /// It ended, and comes back anew once nothing of it is left.
    Returning,
    /// Nobody wants it.
    Unwanted,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CleanUp {
    /// Pods that nobody wants and that still run.
    pub(crate) kill: Vec<(PodUid, PodFullName)>,
    /// Dead containers.
    pub(crate) containers: Vec<ContainerId>,
    /// Dead sandboxes, with all that is in them.
    pub(crate) sandboxes: Vec<SandboxId>,
}

/// Whether anything of the pod is alive.
pub(crate) fn is_alive(pod: &RuntimePod) -> bool {
    pod.containers.iter().any(|container| container.state == ContainerRunState::Running)
        || pod.sandboxes.iter().any(|sandbox| sandbox.state == SandboxState::Ready)
}

/// Decides what of these pods is to go.
pub(crate) fn plan(listed: &[RuntimePod], standing: impl Fn(&PodUid) -> Standing) -> CleanUp {
    let mut clean_up = CleanUp::default();
    for pod in listed {
        match (standing(&pod.uid), is_alive(pod)) {
            (Standing::Kept, _) => collect_dead(pod, &mut clean_up),
            (Standing::Unwanted, true) => {
                let name = PodFullName::new(&pod.namespace, &pod.name);
                clean_up.kill.push((pod.uid.clone(), name));
            }
            (Standing::Returning, true) => {}
            (Standing::Unwanted | Standing::Returning, false) => {
                clean_up.sandboxes.extend(pod.sandboxes.iter().map(|sandbox| sandbox.id.clone()));
                let has_sandbox = |id: &SandboxId| pod.sandboxes.iter().any(|sandbox| sandbox.id == *id);
                let stray = pod.containers.iter().filter(|container| !has_sandbox(&container.sandbox_id));
                clean_up.containers.extend(stray.map(|container| container.id.clone()));
            }
        }
    }
    clean_up
}

/// Of each container the newest dead instance stays, for its logs and its last state (upstream: `MaxPerPodContainer`
/// 1); of sandboxes the newest, and those that something which stays is in.
fn collect_dead(pod: &RuntimePod, clean_up: &mut CleanUp) {
    let (mut names_seen, mut dead_seen) = (BTreeSet::new(), BTreeSet::new());
    let mut needed: BTreeSet<&SandboxId> = BTreeSet::new();
    for container in &pod.containers {
        let newest = names_seen.insert(container.name.as_str());
        let stays = match container.state {
            ContainerRunState::Running => true,
            // It may be about to start.
            ContainerRunState::Created => newest,
            ContainerRunState::Exited | ContainerRunState::Unknown => {
                dead_seen.insert(container.name.as_str())
            }
        };
        if stays {
            needed.insert(&container.sandbox_id);
        } else {
            clean_up.containers.push(container.id.clone());
        }
    }
    let old = pod.sandboxes.iter().skip(1);
    let dead = old.filter(|sandbox| sandbox.state == SandboxState::NotReady && !needed.contains(&sandbox.id));
    clean_up.sandboxes.extend(dead.map(|sandbox| sandbox.id.clone()));
}

/// Removes what is to go, containers with their `logs`, and the folders of pods that nobody knows. `is_known` is asked
/// once the folders are listed, for pods may have come since the clean-up was decided.
pub(crate) async fn carry_out(
    clean_up: CleanUp,
    mut logs: BTreeMap<ContainerId, PathBuf>,
    is_known: impl Fn(&PodUid) -> bool,
    runtime: Runtime,
    files: Arc<dyn PodFiles>,
) {
    let containers = clean_up.containers.into_iter().map(|id| {
        let log = logs.remove(&id);
        remove_container(runtime.clone(), files.clone(), id, log)
    });
    stream::iter(containers).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    for (container, log) in logs {
        remove_log(&*files, &container, &log).await;
    }
    let sandboxes = clean_up.sandboxes.into_iter().map(|id| remove_sandbox(runtime.clone(), id));
    stream::iter(sandboxes).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    remove_folders(is_known, &*files).await;
}

async fn remove_folders(is_known: impl Fn(&PodUid) -> bool, files: &dyn PodFiles) {
    let on_disk = match files.list().await {
        Ok(on_disk) => on_disk,
        Err(error) => {
            tracing::warn!(%error, "listing pod folders failed");
            return;
        }
    };
    for uid in on_disk.into_iter().filter(|uid| !is_known(uid)) {
        if let Err(error) = files.remove(&uid).await {
            tracing::warn!(%uid, %error, "removing a pod's folders failed");
        }
    }
}

/// The log goes first, as upstream's does: should the agent end in between, the container is still there to be found.
async fn remove_container(runtime: Runtime, files: Arc<dyn PodFiles>, id: ContainerId, log: Option<PathBuf>) {
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

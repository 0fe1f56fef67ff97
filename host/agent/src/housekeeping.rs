//! Removes what the runtime, the disk and the cgroup hierarchy still have of pods that no longer need it. One failure doesn't stop the
//! rest; the next round tries again. What goes is decided by `witlet_core::pod::clean_up`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use witlet_core::cgroup::{ResourceConfig, cpu_shares};
use witlet_core::container::gc::{DeadContainer, Garbage};
use witlet_core::error::one_line;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerId, SandboxId};
use witlet_core::trace;
use witlet_ports::{ContainerFiles, Containers, FilesError, PodFiles, Sandboxes, Tracer, Volumes};

use crate::cgroups::{CgroupManager, CgroupState};
use crate::metrics::PodMetrics;
use crate::removals::Removals;
use crate::settings::REMOVALS_MAX;

/// What a container of unknown state gets to end before it is removed.
const UNKNOWN_GRACE: Duration = Duration::from_secs(2);
/// Volumes and folders of a pod are waited for so long in one round. A mount that hangs must not hold up the others.
const FOLDERS_OF_POD_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;

/// What is left of pods, to be removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers {
    /// Dead containers, and sandboxes with all that is in them.
    pub(crate) garbage: Garbage,
    /// Logs of the containers that go, be it with their sandbox.
    pub(crate) logs: BTreeMap<ContainerId, PathBuf>,
    /// Containers that run: links to their logs stay, be they broken.
    pub(crate) running: Vec<ContainerId>,
}

/// Removes what is left of pods: in the runtime, on the disk, and their cgroups.
pub(crate) struct Housekeeper {
    pub(crate) containers: Arc<dyn Containers>,
    pub(crate) sandboxes: Arc<dyn Sandboxes>,
    pub(crate) container_files: Arc<dyn ContainerFiles>,
    pub(crate) tracer: Tracer,
    pub(crate) folders: PodFolders,
}

/// Folders and cgroups of pods.
pub(crate) struct PodFolders {
    pub(crate) files: Arc<dyn PodFiles>,
    pub(crate) volumes: Arc<dyn Volumes>,
    pub(crate) removals: Arc<Removals>,
    pub(crate) cgroups: Arc<CgroupManager>,
    pub(crate) metrics: Arc<PodMetrics>,
}

impl Housekeeper {
    /// Removes leftovers, and the folders and cgroups of pods that aren't known. `is_known` is called once these are listed, because
    /// pods may have come since the clean-up was decided.
    ///
    /// # Errors
    /// When the folders of pods can't be listed; all else is removed then.
    pub(crate) async fn remove(
        &self,
        leftovers: Leftovers,
        is_known: impl Fn(&PodUid) -> bool,
    ) -> Result<(), FilesError> {
        let Leftovers { garbage, logs, running } = leftovers;
        // Listed before `is_known` is called: a pod that comes meanwhile has none in this list, or is known.
        let cgroups = self.folders.cgroups.pods().await;
        if !garbage.containers.is_empty() || !garbage.sandboxes.is_empty() {
            let span = self.tracer.span(|| trace::garbage_collection("Containers/GarbageCollect"));
            span.scope(self.collect(garbage, logs)).await;
        }
        let listed = self.folders.remove_unknown(&is_known).await;
        self.folders.remove_cgroups(cgroups, &is_known).await;
        if let Err(error) = self.container_files.remove_dead_links(&running).await {
            tracing::warn!(%error, "Failed to remove dangling symbolic links to container logs");
        }
        listed
    }

    /// Removes dead containers and sandboxes, with the logs.
    async fn collect(&self, garbage: Garbage, mut logs: BTreeMap<ContainerId, PathBuf>) {
        let Garbage { containers, sandboxes } = garbage;
        let files = &*self.folders.files;
        let containers = containers.into_iter().map(|dead| {
            let log = logs.remove(&dead.id);
            remove_container(&*self.containers, files, dead, log)
        });
        stream::iter(containers).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
        for (container, log) in logs {
            remove_log(files, &container, &log).await;
        }
        let sandboxes = sandboxes.into_iter().map(|id| remove_sandbox(&*self.sandboxes, id));
        stream::iter(sandboxes).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    }
}

impl PodFolders {
    /// Folders go once nothing is mounted in them any more.
    async fn remove_unknown(&self, is_known: &impl Fn(&PodUid) -> bool) -> Result<(), FilesError> {
        let removals = self.list().await?.into_iter().map(|uid| self.remove(uid, is_known));
        let removed: Vec<Option<bool>> =
            stream::iter(removals).buffer_unordered(REMOVALS_MAX).collect().await;
        let checked = removed.iter().flatten().count();
        self.metrics.cleaned_up(checked, removed.iter().flatten().filter(|is_gone| !**is_gone).count());
        Ok(())
    }

    async fn list(&self) -> Result<Vec<PodUid>, FilesError> {
        let listed = self.files.list().await;
        listed.inspect_err(|error| tracing::warn!(%error, "Failed to list pod directories"))
    }

    /// Says whether they are gone; none of a pod that keeps them.
    async fn remove(&self, uid: PodUid, is_known: impl Fn(&PodUid) -> bool) -> Option<bool> {
        let _removal = self.removals.begin(&uid).filter(|_| !is_known(&uid))?;
        let removing = async {
            let begun = tokio::time::Instant::now();
            let torn = self.volumes.tear_down(&uid).await;
            self.metrics.volumes.unmounted(&uid, begun.elapsed(), torn.is_ok());
            if let Err(error) = torn {
                tracing::warn!(pod_uid = %uid, error = one_line(&error), "Failed to unmount volumes of an orphaned pod");
                return false;
            }
            let removed = self.files.remove(&uid).await;
            removed
                .inspect_err(
                    |error| tracing::warn!(pod_uid = %uid, %error, "Failed to remove pod directories"),
                )
                .is_ok()
        };
        let removed = tokio::time::timeout(FOLDERS_OF_POD_MAX, removing).await;
        if removed.is_err() {
            tracing::warn!(pod_uid = %uid, "Timed out removing pod volumes and directories, retrying");
        }
        Some(removed.unwrap_or(false))
    }

    /// Cgroups of pods that aren't known go with all that runs in them, once the pods' volumes are gone: memory that these hold would
    /// count for the tier. Until then what runs in them gets as little CPU as can be.
    async fn remove_cgroups(&self, cgroups: BTreeMap<PodUid, String>, is_known: &impl Fn(&PodUid) -> bool) {
        let CgroupState::Kept(kept) = self.cgroups.state() else { return };
        let orphans: Vec<_> = cgroups.into_iter().filter(|(uid, _)| !is_known(uid)).collect();
        if orphans.is_empty() {
            return;
        }
        let Ok(on_disk) = self.list().await else { return };
        let with_folders: BTreeSet<PodUid> = on_disk.into_iter().collect();
        let removals = orphans.into_iter().map(|(uid, path)| {
            let (port, has_folder) = (kept.port.clone(), with_folders.contains(&uid));
            async move {
                // A pod that comes back with this UID waits.
                let Some(_removal) = self.removals.begin(&uid).filter(|_| !is_known(&uid)) else { return };
                let done = match has_folder {
                    true => {
                        let least =
                            ResourceConfig { cpu_shares: Some(cpu_shares(0)), ..ResourceConfig::default() };
                        port.update(&path, &least).await
                    }
                    false => {
                        tracing::info!(pod_uid = %uid, cgroup = path, "Orphaned pod found, removing pod cgroups");
                        port.remove(&path).await
                    }
                };
                if let Err(error) = done {
                    tracing::warn!(pod_uid = %uid, cgroup = path, %error, "Failed to clean up an orphaned pod's cgroup");
                }
            }
        });
        stream::iter(removals).buffer_unordered(REMOVALS_MAX).collect::<()>().await;
    }
}

/// The log goes first, as upstream's does: should the agent end in between, the container is still there to be found.
async fn remove_container(
    containers: &dyn Containers,
    files: &dyn PodFiles,
    dead: DeadContainer,
    log: Option<PathBuf>,
) {
    let DeadContainer { id, stop_first } = dead;
    if stop_first && let Err(error) = containers.stop(&id, UNKNOWN_GRACE).await {
        tracing::warn!(container_id = %id, %error, "Failed to stop container in unknown state");
        return;
    }
    if let Some(log) = log {
        remove_log(files, &id, &log).await;
    }
    if let Err(error) = containers.remove(&id).await {
        tracing::warn!(container_id = %id, %error, "Failed to remove container");
    }
}

async fn remove_log(files: &dyn PodFiles, container: &ContainerId, log: &Path) {
    if let Err(error) = files.remove_log(log).await {
        tracing::warn!(container_id = %container, %error, "Failed to remove container log");
    }
}

async fn remove_sandbox(sandboxes: &dyn Sandboxes, id: SandboxId) {
    let removed = match sandboxes.stop(&id).await {
        Ok(()) => sandboxes.remove(&id).await,
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        tracing::warn!(pod_sandbox_id = %id, %error, "Failed to remove sandbox");
    }
}

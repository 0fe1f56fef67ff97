//! Resources of pods in a kubelet's checkpoint: which ones pods were allocated, and which ones their containers were last given.
//! This agent after a restart, or a kubelet that takes the node over, need not guess them (upstream: `allocated_pods_state` and
//! `actuated_pods_state`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::pod::PodUid;
use witlet_core::pod::allocation::{Allocation, Allocations, ContainerResources};
use witlet_ports::{EventSink, FilesError, StateStore};

use crate::checkpoints::load_checkpoint;

/// The kubelet's name of what pods were allocated, in its root folder.
pub(crate) const ALLOCATED_PODS: &str = "allocated_pods_state";
/// The kubelet's name of what containers were last given.
pub(crate) const ACTUATED_PODS: &str = "actuated_pods_state";
/// Changes that no caller waits for are saved together.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// A failed write is tried again after this time.
const RETRY: Duration = Duration::from_secs(10);

/// Knows them, and saves them a moment after each change, or when a caller waits for that.
pub(crate) struct ResourceTable {
    name: &'static str,
    state: Arc<dyn StateStore>,
    pods: Mutex<Versioned>,
    /// The version on disk. Held while it is written, so that those who wait share writes.
    saved: AsyncMutex<u64>,
    changed: Notify,
}

#[derive(Default)]
struct Versioned {
    pods: Allocations,
    version: u64,
}

impl ResourceTable {
    /// What pods were allocated, as it was saved before the start. What can't be read is as if nothing had been saved, and
    /// reported.
    pub(crate) async fn allocated(state: Arc<dyn StateStore>, events: &dyn EventSink) -> Self {
        let lost = (
            "AllocatedResourcesLost",
            "Failed to read the allocated resources, using those of the pods' specs",
        );
        Self::load(ALLOCATED_PODS, state, events, lost).await
    }

    /// The same for what containers were last given.
    pub(crate) async fn actuated(state: Arc<dyn StateStore>, events: &dyn EventSink) -> Self {
        let lost = (
            "ActuatedResourcesLost",
            "Failed to read the actuated resources, using those that the runtime reports",
        );
        Self::load(ACTUATED_PODS, state, events, lost).await
    }

    async fn load(
        name: &'static str,
        state: Arc<dyn StateStore>,
        events: &dyn EventSink,
        lost: (&str, &str),
    ) -> Self {
        let read = |bytes: &[u8]| Allocations::decode(bytes).map_err(|error| one_line(&error));
        let pods = load_checkpoint(&*state, events, name, read, lost).await;
        let pods = Mutex::new(Versioned { pods, version: 0 });
        Self { name, state, pods, saved: AsyncMutex::new(0), changed: Notify::new() }
    }

    /// Returns what a pod has.
    pub(crate) fn get(&self, uid: &PodUid) -> Option<Allocation> {
        self.table().pods.get(uid).cloned()
    }

    /// Returns what a container has.
    pub(crate) fn container(&self, uid: &PodUid, name: &str) -> Option<ContainerResources> {
        self.table().pods.get(uid)?.container(name)
    }

    /// A container of the pod was given its resources.
    pub(crate) fn record(&self, pod: &Pod, container: &Container) {
        self.update(|pods| {
            pods.set_container(pod, container);
            true
        });
    }

    /// Changes it; `change` says whether it did. Gives the version to wait for, if so.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Allocations) -> bool) -> Option<u64> {
        let mut table = self.table();
        if !change(&mut table.pods) {
            return None;
        }
        table.version += 1;
        let version = table.version;
        drop(table);
        self.changed.notify_one();
        Some(version)
    }

    /// Returns once this version, or a later one, is on disk.
    pub(crate) async fn save(&self, version: u64) -> Result<(), FilesError> {
        let mut saved = self.saved.lock().await;
        if *saved >= version {
            return Ok(());
        }
        let (content, version) = {
            let table = self.table();
            (table.pods.encode(), table.version)
        };
        self.state.save(self.name, &content).await?;
        *saved = version;
        Ok(())
    }

    /// Saves what changes until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(self.changed.notified()).await.is_some() {
            // What changed last is saved at once when the agent stops.
            stop.run_until_cancelled(sleep(DEBOUNCE)).await;
            let newest = self.table().version;
            if let Err(error) = self.save(newest).await {
                tracing::warn!(file = self.name, error = one_line(&error), "Failed to save a checkpoint");
                self.changed.notify_one();
                stop.run_until_cancelled(sleep(RETRY)).await;
                if stop.is_cancelled() {
                    return;
                }
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Versioned> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What running containers were last given, in a kubelet's checkpoint: this agent, or a kubelet that takes the node over, need
//! not guess it from the runtime (upstream: `actuated_pods_state`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::pod::PodUid;
use witlet_core::pod::allocation::{Allocations, ContainerResources};
use witlet_ports::{EventSink, StateStore};

use crate::event_loop::load_checkpoint;

/// The kubelet's name of the checkpoint, in its root folder.
pub(crate) const ACTUATED_PODS: &str = "actuated_pods_state";
/// Containers that start close together are saved together. A crash before that loses what the runtime can tell in most cases.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// A failed write is tried again after this time.
const RETRY: Duration = Duration::from_secs(10);

/// Knows them, and saves them a moment after each change.
pub(crate) struct ActuatedStore {
    state: Arc<dyn StateStore>,
    pods: Mutex<Allocations>,
    changed: Notify,
}

impl ActuatedStore {
    /// With what was saved before the start. What can't be read is as if nothing had been saved, and reported.
    pub(crate) async fn load(state: Arc<dyn StateStore>, events: &dyn EventSink) -> Self {
        let read = |bytes: &[u8]| Allocations::decode(bytes).map_err(|error| one_line(&error));
        let lost = (
            "ActuatedResourcesLost",
            "Containers have the resources that the runtime reports, for those last given can't be read",
        );
        let pods = load_checkpoint(&*state, events, ACTUATED_PODS, read, lost).await;
        Self { state, pods: Mutex::new(pods), changed: Notify::new() }
    }

    /// A container of the pod was given its resources.
    pub(crate) fn record(&self, pod: &Pod, container: &Container) {
        self.pods().set_container(pod, container);
        self.changed.notify_one();
    }

    /// What a container was last given.
    pub(crate) fn container(&self, uid: &PodUid, name: &str) -> Option<ContainerResources> {
        self.pods().get(uid)?.container(name)
    }

    /// Forgets all pods but these.
    pub(crate) fn retain(&self, wanted: impl Fn(&PodUid) -> bool) {
        if self.pods().retain(wanted) {
            self.changed.notify_one();
        }
    }

    /// Saves what changes until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(self.changed.notified()).await.is_some() {
            // What changed last is saved at once when the agent stops.
            stop.run_until_cancelled(sleep(DEBOUNCE)).await;
            let checkpoint = self.pods().encode();
            if let Err(error) = self.state.save(ACTUATED_PODS, &checkpoint).await {
                tracing::warn!(error = one_line(&error), "save what containers were given");
                self.changed.notify_one();
                stop.run_until_cancelled(sleep(RETRY)).await;
                if stop.is_cancelled() {
                    return;
                }
            }
        }
    }

    fn pods(&self) -> MutexGuard<'_, Allocations> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

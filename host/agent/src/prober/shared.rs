//! What the probe manager's task and its handles share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::PodStatus;
use tokio::sync::Notify;
use witlet_core::pod::PodUid;
use witlet_core::probe::{ProbeKind, ProbeResult};
use witlet_core::runtime::ContainerId;
use witlet_ports::{Clock, EventSink, Jitter, ProbeTypes};

use super::slots::Slots;

/// How many probes run at the same time; further ones wait in the order in which they were due.
pub const PROBES_AT_ONCE_MAX: usize = 1024;
/// How many of them are of one pod, so that a pod whose probes hang can't take the capacity of the others.
pub(super) const PROBES_OF_POD_AT_ONCE_MAX: usize = 32;

/// A result that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProbeUpdate {
    pub(crate) uid: PodUid,
    /// The instance of the container.
    pub(crate) container: ContainerId,
    /// Which of its probes.
    pub(crate) kind: ProbeKind,
    /// The result now. A failed liveness probe of a container that doesn't run any more means nothing.
    pub(crate) result: ProbeResult,
}

/// Where the probe manager sees the statuses of pods: addresses, ids of containers, and what has started.
pub(crate) trait PodStatuses: Send + Sync {
    /// The newest status; none before there is one.
    fn status(&self, uid: &PodUid) -> Option<Arc<PodStatus>>;
}

/// The ports of the probe manager.
pub(crate) struct ProberPorts {
    pub(crate) types: Arc<dyn ProbeTypes>,
    pub(crate) statuses: Arc<dyn PodStatuses>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
}

/// What the manager and its handles share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) slots: Mutex<Slots>,
    /// Something for the task is in the slots' list of wakes.
    pub(super) wake: Notify,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

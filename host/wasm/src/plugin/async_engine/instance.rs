//! An instance on the asynchronous engine.

use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;

use crate::guest::async_guest::AsyncState;
use crate::plugin::pool::Instance;
use crate::role::Role;
use crate::worlds::pod_source::Source;
use crate::worlds::probe::Prober;

/// An instance in the role that it was made for.
pub(super) struct AsyncInstance {
    pub(super) store: Store<AsyncState>,
    pub(super) handle: Handle,
    /// What it holds as long as it lives: of its plugin's share, and of all slots.
    pub(super) _slots: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// The exports of its role.
pub(super) enum Handle {
    Prober(Box<dyn Prober>),
    Source(Box<dyn Source>),
}

impl Instance for AsyncInstance {
    fn role(&self) -> Role {
        match &self.handle {
            Handle::Prober(_) => Role::Probe,
            Handle::Source(_) => Role::PodSource,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.store.data().limits.memory_bytes()
    }
}

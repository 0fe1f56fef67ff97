//! The newest objects of this node's pods, as the watch brought them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::PodUid;
use witlet_core::sources::SourceUpdate;

/// The newest object of each pod by its UID, mirror pods among them. Anyone who asks never waits for the API server.
#[derive(Debug, Default)]
pub struct KnownPods {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pods: HashMap<PodUid, Arc<Pod>>,
    /// How many lists were read.
    lists: u64,
}

impl KnownPods {
    /// The newest object of the pod; none if the API server doesn't have it, or wasn't read yet.
    pub fn get(&self, uid: &PodUid) -> Option<Arc<Pod>> {
        self.lock().pods.get(uid).cloned()
    }

    /// Whether the API server was read since the start: before, nothing follows from a pod that isn't known.
    pub fn is_synced(&self) -> bool {
        self.lock().lists > 0
    }

    /// How many lists were read: a list says what there is, also where its versions are older than those before, as after a restore of the
    /// server's storage.
    pub(crate) fn lists(&self) -> u64 {
        self.lock().lists
    }

    /// Takes what the watch reported.
    pub fn take(&self, update: &SourceUpdate) {
        let mut inner = self.lock();
        match update {
            SourceUpdate::Replaced { pods, .. } => {
                let pods = pods.iter().map(|pod| (PodUid::of(pod), pod.clone())).collect();
                *inner = Inner { pods, lists: inner.lists + 1 };
            }
            SourceUpdate::Put(pod) => _ = inner.pods.insert(PodUid::of(pod), pod.clone()),
            SourceUpdate::Deleted(uid) => _ = inner.pods.remove(uid),
            // What was there before the start may be gone at the API server.
            SourceUpdate::Restored(_) | SourceUpdate::Incomplete(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Locks of volumes. A mount of a server that is gone (`hostPath` below it) holds a thread for as long as it stays
//! gone, and the wait for it is given up and begun again: without a limit, every try takes another thread of the pool
//! that all work on the disk shares.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as PodLock, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use witlet_core::pod::PodUid;

#[cfg(test)]
mod tests;

/// Threads that work on volumes at the same time: half of those that there are by default.
const THREADS_MAX: usize = 256;

/// What is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The pod's own folders and mounts.
    Own,
    /// What the pod wants of the host, where its server may be gone. Nothing of the pod's own waits for that.
    Host,
}

/// Locks of pods that are in use.
type Pods = BTreeMap<(PodUid, Part), Weak<PodLock<()>>>;

/// Lets one task at a time work on each part of a pod, [`THREADS_MAX`] for all.
#[derive(Clone, Debug)]
pub(super) struct VolumeLocks {
    /// Of pods that are worked on or waited for.
    pods: Arc<Mutex<Pods>>,
    threads: Arc<Semaphore>,
}

/// The right to work on volumes, held by the working thread until it has really ended.
#[derive(Debug)]
pub(super) struct VolumePermit {
    _pod: Option<OwnedMutexGuard<()>>,
    _thread: Option<OwnedSemaphorePermit>,
}

impl VolumeLocks {
    pub(super) fn new() -> Self {
        Self { pods: Arc::default(), threads: Arc::new(Semaphore::new(THREADS_MAX)) }
    }

    /// Waits until this part of the pod is free, and a thread for it.
    pub(super) async fn acquire(&self, uid: &PodUid, part: Part) -> VolumePermit {
        let lock = self.of((uid.clone(), part));
        let pod = lock.lock_owned().await;
        VolumePermit { _pod: Some(pod), ..self.acquire_thread().await }
    }

    /// Waits until there is a thread.
    pub(super) async fn acquire_thread(&self) -> VolumePermit {
        // The semaphore is never closed; without it there would be no limit.
        VolumePermit { _pod: None, _thread: self.threads.clone().acquire_owned().await.ok() }
    }

    fn of(&self, place: (PodUid, Part)) -> Arc<PodLock<()>> {
        let mut pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = pods.get(&place).and_then(Weak::upgrade) {
            return lock;
        }
        pods.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(PodLock::new(()));
        pods.insert(place, Arc::downgrade(&lock));
        lock
    }
}

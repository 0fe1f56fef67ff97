//! Who works on volumes. A mount of a server that is gone (`hostPath` below it) holds a thread for as long as it stays
//! gone, and the wait for it is given up and begun again: without a limit, every try takes another thread of the pool
//! that all work on the disk shares.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use witlet_core::pod::PodUid;

#[cfg(test)]
mod tests;

/// Threads that work on volumes at the same time: half of those that there are by default.
const THREADS_MAX: usize = 256;

/// Gives turns: one at a time for each pod, [`THREADS_MAX`] for all.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Of pods that somebody works on or waits for.
    pods: Arc<Mutex<BTreeMap<PodUid, Weak<Turn<()>>>>>,
    threads: Arc<Semaphore>,
}

/// A turn, to be kept by the thread that works until it has really ended.
#[derive(Debug)]
pub(super) struct Taken {
    _pod: Option<OwnedMutexGuard<()>>,
    _thread: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { pods: Arc::default(), threads: Arc::new(Semaphore::new(THREADS_MAX)) }
    }

    /// Waits until nobody works on the pod, and there is a thread for it.
    pub(super) async fn take(&self, uid: &PodUid) -> Taken {
        let turn = self.of(uid);
        let pod = turn.lock_owned().await;
        Taken { _pod: Some(pod), ..self.take_thread().await }
    }

    /// Waits until there is a thread.
    pub(super) async fn take_thread(&self) -> Taken {
        // Nobody closes the semaphore; without it there would be no limit.
        Taken { _pod: None, _thread: self.threads.clone().acquire_owned().await.ok() }
    }

    fn of(&self, uid: &PodUid) -> Arc<Turn<()>> {
        let mut pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = pods.get(uid).and_then(Weak::upgrade) {
            return turn;
        }
        pods.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Turn::new(()));
        pods.insert(uid.clone(), Arc::downgrade(&turn));
        turn
    }
}

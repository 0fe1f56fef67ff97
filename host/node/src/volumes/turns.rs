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

/// What somebody works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The pod's own folders and mounts.
    Own,
    /// What the pod wants of the host, where its server may be gone. Nothing of the pod's own waits for that.
    Host,
}

/// Turns, for as long as somebody has them.
type Pods = BTreeMap<(PodUid, Part), Weak<Turn<()>>>;

/// Gives turns: one at a time for each part of a pod, [`THREADS_MAX`] for all.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Of pods that somebody works on or waits for.
    pods: Arc<Mutex<Pods>>,
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

    /// Waits until nobody works on this part of the pod, and there is a thread for it.
    pub(super) async fn take(&self, uid: &PodUid, part: Part) -> Taken {
        let turn = self.of((uid.clone(), part));
        let pod = turn.lock_owned().await;
        Taken { _pod: Some(pod), ..self.take_thread().await }
    }

    /// Waits until there is a thread.
    pub(super) async fn take_thread(&self) -> Taken {
        // Nobody closes the semaphore; without it there would be no limit.
        Taken { _pod: None, _thread: self.threads.clone().acquire_owned().await.ok() }
    }

    fn of(&self, place: (PodUid, Part)) -> Arc<Turn<()>> {
        let mut pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = pods.get(&place).and_then(Weak::upgrade) {
            return turn;
        }
        pods.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Turn::new(()));
        pods.insert(place, Arc::downgrade(&turn));
        turn
    }
}

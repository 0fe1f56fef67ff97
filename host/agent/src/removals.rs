//! Pods of which folders and volumes are being removed. A pod may come back with its UID any time (a static pod's is that
//! of its manifest): it waits for the end of the removal, so that nothing of the new one goes with what is left of the old.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use witlet_core::pod::PodUid;

#[cfg(test)]
mod tests;

/// The removals under way.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    uids: Mutex<BTreeSet<PodUid>>,
    ended: Notify,
}

/// A removal under way; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Removal {
    removals: Arc<Removals>,
    uid: PodUid,
}

impl Removals {
    /// Begins a removal. To be begun before it is asked whether the pod is needed: later callers wait. None if one
    /// is under way.
    pub(crate) fn begin(self: &Arc<Self>, uid: &PodUid) -> Option<Removal> {
        let is_first = self.lock().insert(uid.clone());
        is_first.then(|| Removal { removals: self.clone(), uid: uid.clone() })
    }

    /// Waits until nothing of the pod is being removed.
    pub(crate) async fn none_of(&self, uid: &PodUid) {
        loop {
            let ended = self.ended.notified();
            if !self.lock().contains(uid) {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PodUid>> {
        self.uids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.removals.lock().remove(&self.uid);
        self.removals.ended.notify_waiters();
    }
}

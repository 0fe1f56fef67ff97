//! When each pod is to be checked again.

use std::collections::{BTreeSet, HashMap};

use tokio::time::Instant;
use witlet_core::pod::PodUid;

/// Pods and the times at which they are due; each pod once.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    due: HashMap<PodUid, Instant>,
    order: BTreeSet<(Instant, PodUid)>,
}

impl WorkQueue {
    /// Wakes the pod at this time, in place of any time before.
    pub(crate) fn set(&mut self, uid: &PodUid, at: Instant) {
        self.remove(uid);
        self.due.insert(uid.clone(), at);
        self.order.insert((at, uid.clone()));
    }

    /// Doesn't wake the pod any more.
    pub(crate) fn remove(&mut self, uid: &PodUid) {
        if let Some(at) = self.due.remove(uid) {
            self.order.remove(&(at, uid.clone()));
        }
    }

    /// Takes all pods that are due, the longest due first.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<PodUid> {
        let mut taken = Vec::new();
        while let Some((at, uid)) = self.order.pop_first() {
            if at > now {
                self.order.insert((at, uid));
                break;
            }
            self.due.remove(&uid);
            taken.push(uid);
        }
        taken
    }
}

#[cfg(test)]
mod tests;

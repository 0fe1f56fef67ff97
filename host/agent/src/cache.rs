//! What the runtime was last seen to have of each pod, and the wait for a check that is new enough.
//!
//! Checks are ordered by stamps from a counter, not by time: a stamp is taken before the runtime is asked, so
//! whatever was done before the stamp was taken is seen in the check.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::oneshot;
use witlet_core::pod::PodUid;
use witlet_core::runtime::ObservedPod;
use witlet_ports::RuntimeError;

#[cfg(test)]
mod tests;

/// A point in the order of checks and actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(u64);

/// A check of a pod, or why it failed.
pub(crate) type Inspection = Result<Arc<ObservedPod>, RuntimeError>;

/// The newest check of each pod.
#[derive(Debug)]
pub(crate) struct PodCache {
    next: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<PodUid, Entry>,
    /// When all pods were last listed. Pods that were not checked since are as they were then.
    listed: Option<(Stamp, Timestamp)>,
    waiting: HashMap<PodUid, Vec<Waiter>>,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    inspection: Inspection,
}

#[derive(Debug)]
struct Waiter {
    than: Stamp,
    answer: oneshot::Sender<Inspection>,
}

impl PodCache {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU64::new(1), inner: Mutex::default() }
    }

    /// A stamp later than all before it.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps a check that was begun at `stamp`, unless there is a newer one.
    pub(crate) fn set(&self, uid: &PodUid, inspection: Inspection, stamp: Stamp) {
        let mut inner = self.lock();
        if inner.entries.get(uid).is_none_or(|old| old.stamp < stamp) {
            inner.entries.insert(uid.clone(), Entry { stamp, inspection });
            inner.answer(uid);
        }
    }

    /// Forgets a pod that wasn't in the list begun at `stamp`, unless it was checked since.
    pub(crate) fn remove(&self, uid: &PodUid, stamp: Stamp) {
        let mut inner = self.lock();
        if inner.entries.get(uid).is_some_and(|old| old.stamp < stamp) {
            inner.entries.remove(uid);
        }
    }

    /// All pods were listed, and those that had changed were checked. Checks pods that weren't in the list are
    /// forgotten, unless they are newer.
    pub(crate) fn listed(&self, stamp: Stamp, at: Timestamp, has: impl Fn(&PodUid) -> bool) {
        let mut inner = self.lock();
        inner.entries.retain(|uid, entry| entry.stamp > stamp || has(uid));
        inner.listed = Some((stamp, at));
        let waiting: Vec<PodUid> = inner.waiting.keys().cloned().collect();
        for uid in waiting {
            inner.answer(&uid);
        }
    }

    /// The newest check, however old; none if the pod was never seen.
    pub(crate) fn peek(&self, uid: &PodUid) -> Option<Arc<ObservedPod>> {
        self.lock().entries.get(uid).and_then(|entry| entry.inspection.as_ref().ok().cloned())
    }

    /// The newest check of each pod.
    pub(crate) fn all(&self) -> Vec<Arc<ObservedPod>> {
        self.lock().entries.values().filter_map(|entry| entry.inspection.as_ref().ok().cloned()).collect()
    }

    /// A check begun after `than`. Waits until there is one.
    pub(crate) async fn newer_than(&self, uid: &PodUid, than: Stamp) -> Inspection {
        let answer = {
            let mut inner = self.lock();
            if let Some(inspection) = inner.newer_than(uid, than) {
                return inspection;
            }
            let (answer, question) = oneshot::channel();
            let waiting = inner.waiting.entry(uid.clone()).or_default();
            waiting.retain(|waiter| !waiter.answer.is_closed());
            waiting.push(Waiter { than, answer });
            question
        };
        match answer.await {
            Ok(inspection) => inspection,
            // Only if the cache itself is gone, and with it the agent.
            Err(_) => std::future::pending().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn newer_than(&self, uid: &PodUid, than: Stamp) -> Option<Inspection> {
        let entry = self.entries.get(uid);
        if let Some(entry) = entry
            && entry.stamp > than
        {
            return Some(entry.inspection.clone());
        }
        let (_, listed_at) = self.listed.filter(|(stamp, _)| *stamp > than)?;
        Some(match entry {
            Some(entry) => entry.inspection.clone(),
            None => Ok(Arc::new(ObservedPod::absent(uid.clone(), listed_at))),
        })
    }

    fn answer(&mut self, uid: &PodUid) {
        let Some(waiting) = self.waiting.remove(uid) else { return };
        let mut still = Vec::new();
        for waiter in waiting {
            match self.newer_than(uid, waiter.than) {
                // The receiver is gone if the work was cut short meanwhile.
                Some(inspection) => drop(waiter.answer.send(inspection)),
                None if waiter.answer.is_closed() => {}
                None => still.push(waiter),
            }
        }
        if !still.is_empty() {
            self.waiting.insert(uid.clone(), still);
        }
    }
}

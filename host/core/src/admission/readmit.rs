//! Pods that ran before the agent was started, and are put to the handlers that want it (`readmit`).
//!
//! Verdicts stand over a restart. A handler that subscribes is asked about each such pod once all the same, and may have it ended by a
//! rejection. A pod that it rejects while enough pods have been ended is asked about again later.
//!
//! Handlers are loaded one after the other at a start, each is asked once it is there. One that comes later than [`LOADED_WITHIN`] has
//! nothing to do with the start any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::pod::PodUid;

#[cfg(test)]
mod tests;

/// Handlers that are loaded later after the agent's start aren't asked.
pub const LOADED_WITHIN: Duration = Duration::from_secs(600);
/// A pod that is rejected while enough have been ended is asked about again after this; and so long an end counts.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_secs(600);

/// Names of handlers.
pub type HandlerNames = BTreeSet<Arc<str>>;

/// The pods that ran before the start, and which handlers were asked about each. Times are since the agent's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readmissions {
    /// Those that are asked.
    handlers: HandlerNames,
    pods: BTreeMap<PodUid, Readmission>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Readmission {
    /// Those that were asked.
    asked: HandlerNames,
    /// Those that the question is for that waits.
    waiting: HandlerNames,
    not_before: Duration,
}

impl Readmissions {
    /// A pod ran before the start, and the verdict on it stands.
    pub fn add(&mut self, uid: &PodUid) {
        self.pods.insert(uid.clone(), Readmission::default());
    }

    /// These handlers are there now and want to be asked.
    pub fn set_handlers(&mut self, mut handlers: HandlerNames, now: Duration) {
        if now > LOADED_WITHIN {
            handlers.retain(|name| self.handlers.contains(name));
        }
        self.handlers = handlers;
    }

    /// The pods to ask about now, at most `capacity`. `running` are all that may be asked about; the others aren't any more. Which handlers
    /// are asked about one says [`Self::take_waiting`].
    pub fn take_due(&mut self, running: &BTreeSet<&PodUid>, capacity: usize, now: Duration) -> Vec<PodUid> {
        self.pods.retain(|uid, _| running.contains(uid));
        let is_due = |pod: &Readmission| pod.not_before <= now && !self.handlers.is_subset(&pod.asked);
        let due = self.pods.iter_mut().filter(|(_, pod)| is_due(pod)).take(capacity);
        let mut uids = Vec::new();
        for (uid, pod) in due {
            let unasked = self.handlers.difference(&pod.asked).cloned();
            pod.waiting.extend(unasked);
            pod.asked.extend(self.handlers.iter().cloned());
            uids.push(uid.clone());
        }
        uids
    }

    /// The handlers that are asked about a pod now that its question has its turn.
    pub fn take_waiting(&mut self, uid: &PodUid) -> HandlerNames {
        self.pods.get_mut(uid).map(|pod| std::mem::take(&mut pod.waiting)).unwrap_or_default()
    }

    /// The answer doesn't count, or can't be followed yet: all handlers are asked about the pod again after this.
    pub fn ask_again(&mut self, uid: &PodUid, at: Duration) {
        if let Some(pod) = self.pods.get_mut(uid) {
            *pod = Readmission { not_before: at, ..Readmission::default() };
        }
    }
}

//! A running pod's wish for other resources, from its source to its allocation: when the admission handlers are asked, what is granted,
//! and what its condition and its events say meanwhile (upstream: `allocation.Manager`).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::allocation::{
    Allocation, Grant, Infeasible, NodePolicy, PendingResize, Precedence, Wish, after_admission, judge,
    precedence, resize_message,
};
use crate::admission::Decision;
use crate::status::{ResizePending, ResizePendingReason};

#[cfg(test)]
mod tests;

/// A wish that wasn't granted is put to the handlers again after this, if nothing changes sooner (upstream:
/// `allocation.Manager` retries every 3 minutes).
pub const ASK_AGAIN_AFTER: Duration = Duration::from_secs(180);

/// How far one pod's wish has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resize {
    pending: Option<ResizePending>,
    since: Option<Timestamp>,
    /// Why it can't be, in the word that it is counted by.
    infeasible: Option<&'static str>,
}

/// What a wish is considered with.
#[derive(Clone, Copy, Debug)]
pub struct ResizeFacts<'a> {
    /// The pod as its source has it.
    pub pod: &'a Pod,
    pub allocation: &'a Allocation,
    /// What the node can give at all.
    pub node: NodePolicy,
    /// The pod is to end, or has.
    pub is_ending: bool,
    pub now: Timestamp,
}

/// What the agent has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Put the wish to the admission handlers, in place of any before.
    Ask(Precedence),
    StopAsking,
    /// The pod has these resources from now on; they are on disk before they are put into force.
    Allocate(Allocation),
    Warn {
        reason: String,
        message: String,
    },
    /// Sync the pod: its condition `PodResizePending` changed.
    Sync,
}

impl Resize {
    /// Returns what the pod's condition `PodResizePending` says; none if no wish waits.
    pub fn pending(&self) -> Option<&ResizePending> {
        self.pending.as_ref()
    }

    /// Whether the wish can't be on this node as it is.
    pub fn is_infeasible(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.reason == ResizePendingReason::Infeasible)
    }

    /// The word that a wish which can't be is counted by.
    pub fn infeasible_detail(&self) -> Option<&'static str> {
        self.infeasible.filter(|_| self.is_infeasible())
    }

    /// Whether the node has put the wish off.
    pub fn is_deferred(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.reason == ResizePendingReason::Deferred)
    }

    /// The pod, its allocation or the node changed.
    pub fn consider(&mut self, facts: ResizeFacts<'_>) -> Vec<Effect> {
        let ResizeFacts { pod, allocation, node, is_ending, now } = facts;
        match judge(pod, allocation, node) {
            Wish::None => self.clear(),
            _ if is_ending => self.clear(),
            Wish::Infeasible(infeasible) => self.refuse(pod, &infeasible),
            Wish::Ask => {
                let since = *self.since.get_or_insert(now);
                vec![Effect::Ask(precedence(&PendingResize { pod, allocation, since }))]
            }
        }
    }

    /// The handlers' decision about the wish stands.
    pub fn decided(&mut self, pod: &Pod, decision: Decision) -> Vec<Effect> {
        match after_admission(pod, decision) {
            Grant::Granted(allocation) => {
                *self = Self::default();
                vec![Effect::Allocate(allocation)]
            }
            Grant::Deferred { why, message, retry_after: _ } => {
                self.wait(pod, ResizePendingReason::Deferred, message, &why)
            }
            Grant::Infeasible(infeasible) => self.refuse(pod, &infeasible),
        }
    }

    fn clear(&mut self) -> Vec<Effect> {
        self.since = None;
        let was_pending = self.pending.take().is_some();
        let sync = was_pending.then_some(Effect::Sync);
        std::iter::once(Effect::StopAsking).chain(sync).collect()
    }

    fn refuse(&mut self, pod: &Pod, infeasible: &Infeasible) -> Vec<Effect> {
        (self.since, self.infeasible) = (None, Some(infeasible.detail()));
        let reason = ResizePendingReason::Infeasible;
        let mut effects = vec![Effect::StopAsking];
        effects.extend(self.wait(pod, reason, infeasible.to_string(), reason.as_str()));
        effects
    }

    /// As upstream has it, another message alone is no event.
    fn wait(&mut self, pod: &Pod, reason: ResizePendingReason, message: String, why: &str) -> Vec<Effect> {
        let pending = ResizePending { reason, message, generation: pod.metadata.generation };
        if self.pending.as_ref() == Some(&pending) {
            return Vec::new();
        }
        let is_same = |old: &ResizePending| (old.reason, old.generation) == (reason, pending.generation);
        let event = (!self.pending.as_ref().is_some_and(is_same)).then(|| Effect::Warn {
            reason: format!("Resize{}", reason.as_str()),
            message: resize_message(&format!("Pod resize {why}"), pod, &pending.message),
        });
        self.pending = Some(pending);
        event.into_iter().chain([Effect::Sync]).collect()
    }
}

/// Returns what a decision means to the admission queue: a wish that isn't infeasible is asked about again, whatever the handlers said.
pub fn queued(pod: &Pod, decision: Decision) -> Decision {
    match after_admission(pod, decision.clone()) {
        Grant::Granted(_) | Grant::Infeasible(_) => decision,
        Grant::Deferred { why: reason, message, retry_after } => {
            Decision::Defer { reason, message, retry_after: retry_after.unwrap_or(ASK_AGAIN_AFTER) }
        }
    }
}

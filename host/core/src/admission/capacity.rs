//! What decisions about new pods come to while pods end to free resources for a critical one.
//!
//! The critical pod counts against the node as if it were there, and waits until they are gone. What others lack meanwhile they may have
//! later, so that no pod is refused, and only one pod at a time has others ended. (Upstream's loop stands still meanwhile, which comes to the same.)

use std::time::Duration;

use super::Decision;
use super::preemption::REASON;
use crate::pod::PodUid;

#[cfg(test)]
mod tests;

/// A pod that waits for others to end is judged again after this, if nothing changes sooner.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How a pod of the node stands to a decision about capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// It was admitted, and may have containers that run.
    pub counts: bool,
    /// Others were ended for it.
    pub waits_for_capacity: bool,
    /// It was ended to free resources.
    pub is_preempted: bool,
    /// It is to end, for whatever reason.
    pub is_ending: bool,
}

impl PodFacts {
    fn ends(self) -> bool {
        self.is_preempted || self.is_ending
    }
}

/// How far freeing resources has come, as one judged pod sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FreedCapacity {
    /// Another pod waits for resources that are freed for it.
    another_waits: bool,
    /// Pods that were ended to free resources may still run.
    pods_end: bool,
    /// How many of the victims that the decision names may still run.
    victims_left: usize,
    /// How many of those are ending already, for whatever reason.
    victims_ending: usize,
}

impl FreedCapacity {
    fn of<'a>(
        uid: &PodUid,
        victims: &[PodUid],
        pods: impl IntoIterator<Item = (&'a PodUid, PodFacts)>,
    ) -> Self {
        let mut freed = Self::default();
        for (other, pod) in pods {
            freed.another_waits |= pod.waits_for_capacity && other != uid;
            freed.pods_end |= pod.counts && pod.is_preempted;
            if pod.counts && victims.contains(other) {
                freed.victims_left += 1;
                freed.victims_ending += usize::from(pod.ends());
            }
        }
        freed
    }
}

/// Returns what a decision about this pod comes to: itself, or that the pod waits (reason `Preempting`).
///
/// A pod whose victims all end already goes on waiting for them, be it that an earlier agent began to end them; but no other pod is
/// ended before that is done, because what lacks then may be less.
pub fn settle<'a>(
    uid: &PodUid,
    decision: Decision,
    pods: impl IntoIterator<Item = (&'a PodUid, PodFacts)>,
) -> Decision {
    let victims = match &decision {
        Decision::Preempt { victims, .. } => victims.as_slice(),
        Decision::Reject { .. } => &[],
        // No other pod changes these, and most are such.
        Decision::Admit | Decision::Defer { .. } => return decision,
    };
    let freed = FreedCapacity::of(uid, victims, pods);
    settled(decision, freed)
}

fn settled(decision: Decision, freed: FreedCapacity) -> Decision {
    let FreedCapacity { another_waits, pods_end, victims_left, victims_ending } = freed;
    let is_freeing = another_waits || pods_end;
    let message = match decision {
        Decision::Reject { message, .. } if is_freeing => message,
        Decision::Preempt { message, .. }
            if victims_left == 0 || another_waits || (is_freeing && victims_ending < victims_left) =>
        {
            message
        }
        Decision::Admit | Decision::Reject { .. } | Decision::Preempt { .. } | Decision::Defer { .. } => {
            return decision;
        }
    };
    Decision::Defer { reason: REASON.to_owned(), message, retry_after: ASK_AGAIN_AFTER }
}

/// How pods are ended to free resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preemption {
    pub ends: Vec<PodUid>,
    /// A verdict on another pod that was asked for before this is outdated.
    pub outdates_verdicts: bool,
}

/// Which of these victims are ended for this pod, which waits until they are gone.
pub fn preempt<'a>(
    uid: &PodUid,
    victims: &[PodUid],
    pods: impl IntoIterator<Item = (&'a PodUid, PodFacts)>,
) -> Preemption {
    let (mut ends, mut waited) = (Vec::new(), false);
    for (other, pod) in pods {
        waited |= pod.waits_for_capacity && other == uid;
        if victims.contains(other) && pod.counts && !pod.ends() {
            ends.push(other.clone());
        }
    }
    let outdates_verdicts = !waited || !ends.is_empty();
    Preemption { ends, outdates_verdicts }
}

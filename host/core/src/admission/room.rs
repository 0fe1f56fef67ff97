//! What decisions about new pods come to while pods end to make room for a critical one.
//!
//! The critical pod waits until they are gone. What others lack meanwhile they may have later, so that no pod is refused, and
//! only one pod at a time has others ended. (Upstream's loop stands still meanwhile, which comes to the same.)

use std::time::Duration;

use super::Decision;
use super::preemption::REASON;

#[cfg(test)]
mod tests;

/// A pod that waits for room to be made is asked for again after this, if nothing changes sooner.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How far making room has come, as one judged pod sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Another pod waits for room that is made for it.
    pub another_waits: bool,
    /// Pods that were ended to make room may still run.
    pub pods_end: bool,
    /// How many of the victims that the decision names may still run.
    pub victims_left: usize,
    /// How many of those are ending already, for whatever reason.
    pub victims_ending: usize,
}

/// What the decision comes to: itself, or that the pod waits (reason `Preempting`).
///
/// A pod whose victims all end already goes on waiting for them, be it that an earlier agent began to end them; but nobody
/// else is ended before that is done, for what lacks then may be less.
pub fn beside(decision: Decision, room: Room) -> Decision {
    let Room { another_waits, pods_end, victims_left, victims_ending } = room;
    let is_making_room = another_waits || pods_end;
    let message = match decision {
        Decision::Reject { message, .. } if is_making_room => message,
        Decision::Preempt { message, .. }
            if victims_left == 0 || another_waits || (is_making_room && victims_ending < victims_left) =>
        {
            message
        }
        Decision::Admit | Decision::Reject { .. } | Decision::Preempt { .. } | Decision::Defer { .. } => {
            return decision;
        }
    };
    Decision::Defer { reason: REASON.to_owned(), message, retry_after: ASK_AGAIN_AFTER }
}

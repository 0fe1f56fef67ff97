//! What becomes of a container whose image admission was asked about, once it was on the node.
//!
//! A container whose image isn't admitted waits, and the others of its pod go on. Handlers are asked about it again after a delay, which
//! grows with each rejection as that of a failed pull does, and as soon as the handlers or the container change.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Decision;
use super::chain::RETRY_AFTER_MAX;
use crate::container::backoff::IMAGE_PULL;
use crate::status::{Waiting, WaitingReason};

#[cfg(test)]
mod tests;

/// A container as it is asked about.
#[derive(Clone, Copy, Debug)]
pub struct ImageQuestion<'a> {
    pub container: &'a str,
    /// Changes with its spec.
    pub definition: &'a str,
    /// Changes with the handlers.
    pub handlers: u64,
}

/// The containers of one pod whose images weren't admitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageHolds {
    /// By the container's name.
    held: BTreeMap<String, Hold>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hold {
    definition: String,
    handlers: u64,
    /// In a row.
    rejections: u32,
    until: Timestamp,
    /// What the status says; an event has said it, too.
    waiting: Waiting,
}

/// What becomes of a container whose image wasn't admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldContainer {
    /// What its status says.
    pub waiting: Waiting,
    /// When handlers are asked again, if nothing changes before.
    pub until: Timestamp,
    /// Reason and message of a warning event; none if one has said it of this container already.
    pub event: Option<(String, String)>,
}

impl ImageHolds {
    /// No container waits.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How the container waits without anything being asked; none if it is to be tried. A time further off than any delay is of before
    /// the clock was set back, and doesn't count.
    pub fn held(&self, question: ImageQuestion<'_>, now: Timestamp) -> Option<HeldContainer> {
        let hold = self.held.get(question.container)?;
        if hold.definition != question.definition || hold.handlers != question.handlers {
            return None;
        }
        let wait = Duration::try_from(hold.until.duration_since(now)).ok()?;
        let waits = !wait.is_zero() && wait <= RETRY_AFTER_MAX;
        waits.then(|| HeldContainer { waiting: hold.waiting.clone(), until: hold.until, event: None })
    }

    /// The handlers' decision about the image. None if the container may start.
    pub fn decided(
        &mut self,
        question: ImageQuestion<'_>,
        decision: &Decision,
        now: Timestamp,
    ) -> Option<HeldContainer> {
        let ImageQuestion { container, definition, handlers } = question;
        let before = self.held.remove(container).filter(|hold| hold.definition == definition);
        let rejected_before = before.as_ref().filter(|hold| hold.handlers == handlers);
        let rejections = rejected_before.map_or(0, |hold| hold.rejections).saturating_add(1);
        let (kind, rejections, delay, reason, message) = match decision {
            Decision::Admit => return None,
            Decision::Defer { reason, message, retry_after } => {
                (WaitingReason::ImageDeferred, 0, *retry_after, reason.as_str(), message)
            }
            Decision::Reject { reason, message, .. } => {
                let delay = IMAGE_PULL.after(rejections);
                (WaitingReason::ImageRejected, rejections, delay, reason.as_str(), message)
            }
            // No pod is ended so that a container starts.
            Decision::Preempt { message, .. } => {
                let (kind, delay) = (WaitingReason::ImageRejected, IMAGE_PULL.after(rejections));
                (kind, rejections, delay, kind.as_str(), message)
            }
        };
        let until = after(now, delay);
        let is_reported = before.is_some_and(|hold| hold.waiting.reason == kind);
        let waiting = Waiting { reason: kind, message: format!("{reason}: {message}") };
        let hold =
            Hold { definition: definition.to_owned(), handlers, rejections, until, waiting: waiting.clone() };
        self.held.insert(container.to_owned(), hold);
        let end = match kind == WaitingReason::ImageDeferred {
            true => "is deferred, and the container isn't started yet",
            false => "is rejected, and the container isn't started",
        };
        let event = || (reason.to_owned(), format!("The image of container {container} {end}: {message}"));
        Some(HeldContainer { waiting, until, event: (!is_reported).then(event) })
    }

    /// Forgets all other containers.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.held.retain(|container, _| is_kept(container));
    }
}

fn after(now: Timestamp, delay: Duration) -> Timestamp {
    now.saturating_add(SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX))
        .unwrap_or(Timestamp::MAX)
}

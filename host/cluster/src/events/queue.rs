//! Events that wait to be sent.

use std::collections::{HashMap, VecDeque};

use witlet_core::event::correlate::{EventKey, Outgoing};

#[cfg(test)]
mod tests;

/// One that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) outgoing: Outgoing,
    /// Whether the API server doesn't have it yet.
    pub(super) is_new: bool,
}

/// In the order in which they came. What repeats meanwhile waits once, with its newest count.
#[derive(Debug)]
pub(super) struct Queue {
    max: usize,
    order: VecDeque<EventKey>,
    waiting: HashMap<EventKey, Waiting>,
    dropped: u64,
}

impl Queue {
    pub(super) fn new(max: usize) -> Self {
        Self { max, order: VecDeque::new(), waiting: HashMap::new(), dropped: 0 }
    }

    /// Whether it waits now; one too many is dropped.
    pub(super) fn push(&mut self, outgoing: Outgoing) -> bool {
        if let Some(waiting) = self.waiting.get_mut(&outgoing.key) {
            waiting.outgoing = outgoing;
            return true;
        }
        if self.order.len() >= self.max {
            self.dropped += 1;
            if self.dropped.is_power_of_two() {
                tracing::warn!(dropped = self.dropped, "Too many events waiting, dropped some");
            }
            return false;
        }
        self.order.push_back(outgoing.key.clone());
        let is_new = outgoing.count <= 1;
        self.waiting.insert(outgoing.key.clone(), Waiting { outgoing, is_new });
        true
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let key = self.order.pop_front()?;
        let next = self.waiting.remove(&key);
        if self.order.is_empty() {
            // After a burst its capacity is most of what an idle node keeps of events.
            (self.order, self.waiting) = Default::default();
        }
        next
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}

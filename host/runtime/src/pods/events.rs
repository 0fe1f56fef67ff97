//! What happens to sandboxes and containers, sent to all subscribers.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::broadcast::{Receiver, Sender, channel};

use super::{ContainerRecord, SandboxRecord};

/// How many events a listener may be behind. One that is further behind is sent away, and finds out by listing what
/// it missed.
const EVENTS_MAX: usize = 1024;
/// How many may listen at once.
pub(crate) const LISTENERS_MAX: usize = 16;

/// Kind of an event of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Created,
    Started,
    /// It runs no more.
    Stopped,
    Deleted,
}

/// Something that happened to a container or, as with containerd, to a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    /// Its sandbox afterwards, if that is still there.
    pub(crate) sandbox: Option<SandboxRecord>,
    /// The sandbox's containers afterwards.
    pub(crate) containers: Vec<ContainerRecord>,
}

/// Sends events to all subscribers, without waiting for any.
#[derive(Debug)]
pub(crate) struct Events {
    sender: Mutex<Option<Sender<Arc<Event>>>>,
}

impl Default for Events {
    fn default() -> Self {
        Self { sender: Mutex::new(Some(channel(EVENTS_MAX).0)) }
    }
}

impl Events {
    fn sender(&self) -> Option<Sender<Arc<Event>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends an event, which is made only if there is a subscriber.
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(sender) = self.sender().filter(|sender| sender.receiver_count() > 0) {
            // The last listener may have left just now.
            _ = sender.send(Arc::new(event()));
        }
    }

    /// Listens from now on. None if too many do already; a stream that has ended if the runtime is ending.
    pub(crate) fn listen(&self) -> Option<Receiver<Arc<Event>>> {
        match self.sender() {
            Some(sender) => (sender.receiver_count() < LISTENERS_MAX).then(|| sender.subscribe()),
            None => Some(channel(1).1),
        }
    }

    /// Ends all streams, as the process is about to end.
    pub(crate) fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[cfg(test)]
mod tests;

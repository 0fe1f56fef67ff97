//! The port that Kubernetes events leave through.

use witlet_core::event::Event;

/// Takes events. Never blocks and never fails: a full sink drops the event and counts it.
pub trait EventSink: Send + Sync {
    /// Hands one event over.
    fn record(&self, event: Event);
}

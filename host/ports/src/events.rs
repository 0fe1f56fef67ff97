//! The port that Kubernetes events leave through.

use jiff::Timestamp;
use witlet_core::event::Event;

/// Takes events. Never blocks and never fails: a full sink drops the event and counts it.
pub trait EventSink: Send + Sync {
    /// Hands one event over.
    fn record(&self, event: Event);

    /// Hands one event over that happened at `at`, and that an agent which was killed since may have handed over already. A sink whose
    /// events outlive the agent keeps it once.
    fn record_once(&self, event: Event, at: Timestamp) {
        let _known_by = at;
        self.record(event);
    }
}

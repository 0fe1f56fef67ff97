//! How many events are sent (upstream: `eventRecordQPS`, `eventBurst`).

use crate::client::rate::Rate;

/// A limit of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimit {
    /// So many per second in the long run; 0 is no limit.
    pub per_second: u32,
    /// So many at once after a while without any.
    pub burst: u32,
}

impl Default for EventLimit {
    /// Upstream's: 50 per second, 100 at once.
    fn default() -> Self {
        Self { per_second: 50, burst: 100 }
    }
}

impl EventLimit {
    /// The limit as a rate; none if there is none.
    pub(super) fn rate(self) -> Option<Rate> {
        Rate::new(f64::from(self.per_second), self.burst)
    }
}

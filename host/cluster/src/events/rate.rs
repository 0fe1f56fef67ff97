//! How many events are sent (upstream: `eventRecordQPS`, `eventBurst`).

use std::time::Duration;

use tokio::time::{Instant, sleep};

#[cfg(test)]
mod tests;

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

/// Gives one permit for each event.
#[derive(Debug)]
pub(super) struct Rate {
    limit: EventLimit,
    /// When all permits would be there again if no more were taken.
    full_at: Instant,
}

impl Rate {
    pub(super) fn new(limit: EventLimit) -> Self {
        Self { limit, full_at: Instant::now() }
    }

    /// Waits for a permit and takes it.
    pub(super) async fn permit(&mut self) {
        if self.limit.per_second == 0 {
            return;
        }
        let one = Duration::from_secs(1) / self.limit.per_second;
        let all = one * self.limit.burst.max(1);
        let now = Instant::now();
        let full_at = self.full_at.max(now) + one;
        let wait = full_at.saturating_duration_since(now).saturating_sub(all);
        self.full_at = full_at;
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }
}

//! How long objects couldn't be read, and when that is reported: after a minute, then less and less often.

use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

#[cfg(test)]
mod tests;

/// What can't be read for this long is reported.
pub const REPORT_AFTER: Duration = Duration::from_secs(60);
/// While it can't be read it is reported again, after twice as long each time, but at least this often.
pub const REPORT_EVERY_MAX: Duration = Duration::from_secs(30 * 60);

/// Whether something can be read, over time. Times are counted from any fixed moment.
#[derive(Clone, Debug)]
pub struct Outage {
    /// Since when it can't be.
    since: Option<Duration>,
    next: Duration,
    interval: Duration,
}

impl Outage {
    /// Begins an outage: nothing was read yet at this time.
    pub fn begin(now: Duration) -> Self {
        Self { since: Some(now), next: now + REPORT_AFTER, interval: REPORT_AFTER }
    }

    /// A request failed. What couldn't be read before is unread since then.
    pub fn failed(&mut self, now: Duration) {
        if self.since.is_none() {
            *self = Self::begin(now);
        }
    }

    /// Ends the outage: it was read, or is watched again. Returns whether it was reported as unread.
    pub fn ended(&mut self) -> bool {
        let was_reported = self.since.is_some() && self.interval > REPORT_AFTER;
        self.since = None;
        was_reported
    }

    /// When a report is due, while it can't be read.
    pub fn next_report(&self) -> Option<Duration> {
        self.since.map(|_| self.next)
    }

    /// Takes the report that is due: how long it couldn't be read.
    pub fn report(&mut self, now: Duration) -> Option<Duration> {
        let since = self.since.filter(|_| now >= self.next)?;
        self.interval = BackoffPolicy { initial: REPORT_AFTER, max: REPORT_EVERY_MAX }.next(self.interval);
        self.next = now + self.interval;
        Some(now.saturating_sub(since))
    }
}

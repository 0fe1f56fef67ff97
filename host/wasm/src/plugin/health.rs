//! When a plugin is left alone: a pure state machine over the outcomes of its calls.

use std::time::Duration;

use tokio::time::Instant;
use witlet_core::container::backoff::BackoffPolicy;

/// Timeouts in a row after which a plugin isn't asked for a while.
pub const TIMEOUTS_TO_QUARANTINE: u32 = 3;
/// Failures of any kind in a row after which a plugin isn't asked for a while.
pub const FAILURES_TO_QUARANTINE: u32 = 5;
/// The first quarantine; each that follows without a success in between is twice as long.
pub const QUARANTINE_MIN: Duration = Duration::from_secs(10);
/// The longest quarantine.
pub const QUARANTINE_MAX: Duration = Duration::from_secs(300);

/// How a call went, as far as health is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It worked: a verdict, or an error in the plugin's own words.
    Answered,
    /// It trapped, ran out of memory, or gave an answer that isn't allowed.
    Failed,
    /// It took too long.
    TimedOut,
    /// The host couldn't ask; says nothing about the plugin.
    NotAsked,
}

/// Whether the plugin may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Closed { until: Instant },
}

/// What an outcome changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Not asked for this long.
    Quarantined { lasts: Duration },
    /// Answered again after a quarantine.
    Recovered,
}

/// Counts outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    timeouts: u32,
    failures: u32,
    /// Quarantines without a success since the first of them.
    quarantines: u32,
    until: Option<Instant>,
    /// Whether the end of the quarantine has not been reported yet.
    release_due: bool,
}

impl Health {
    /// Whether the plugin may be asked at `now`. After a quarantine it may, and the first failure closes again.
    pub(crate) fn gate(&self, now: Instant) -> Gate {
        match self.until {
            Some(until) if now < until => Gate::Closed { until },
            Some(_) | None => Gate::Open,
        }
    }

    /// Notes an outcome.
    pub(crate) fn record(&mut self, outcome: Outcome, now: Instant) -> Option<Change> {
        match outcome {
            Outcome::NotAsked => return None,
            Outcome::Answered => {
                let recovered = self.quarantines > 0;
                *self = Self::default();
                return recovered.then_some(Change::Recovered);
            }
            Outcome::Failed => self.timeouts = 0,
            Outcome::TimedOut => self.timeouts += 1,
        }
        self.failures += 1;
        if let Gate::Closed { .. } = self.gate(now) {
            // A call that began before the quarantine did.
            return None;
        }
        let on_probation = self.quarantines > 0;
        let enough = self.timeouts >= TIMEOUTS_TO_QUARANTINE || self.failures >= FAILURES_TO_QUARANTINE;
        if !(enough || on_probation) {
            return None;
        }
        self.quarantines = self.quarantines.saturating_add(1);
        let lasts = BackoffPolicy { initial: QUARANTINE_MIN, max: QUARANTINE_MAX }.after(self.quarantines);
        self.timeouts = 0;
        self.failures = 0;
        self.until = Some(now + lasts);
        self.release_due = true;
        Some(Change::Quarantined { lasts })
    }

    /// Whether a quarantine is over that was not when this was last asked.
    pub(crate) fn take_release(&mut self, now: Instant) -> bool {
        let released = self.release_due && self.gate(now) == Gate::Open;
        if released {
            self.release_due = false;
        }
        released
    }
}

#[cfg(test)]
mod tests;

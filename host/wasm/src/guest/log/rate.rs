//! How many lines a plugin may write over time, in all of its calls together.

use std::time::Duration;

use tokio::time::Instant;

/// Time for which a line counts: 100 a second, over time.
const PERIOD: Duration = Duration::from_millis(10);
/// Lines that may come at once: ten calls that each write as much as one may.
const BURST: u32 = 640;
/// How often it is told how many lines were left out.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is written, and if lines were left out since that was last told, their number.
    Written { left_out: Option<u64> },
    /// It is left out.
    LeftOut,
}

/// A plugin's lines so far.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Until when the lines that were written count.
    counts_until: Option<Instant>,
    left_out: u64,
    told: Option<Instant>,
}

impl Rate {
    /// Counts a line.
    pub(super) fn take(&mut self, now: Instant) -> Taken {
        let from = self.counts_until.map_or(now, |until| until.max(now));
        if from + PERIOD > now + PERIOD * BURST {
            self.left_out += 1;
            return Taken::LeftOut;
        }
        self.counts_until = Some(from + PERIOD);
        let due = self.told.is_none_or(|told| now.saturating_duration_since(told) >= TOLD_EVERY);
        if self.left_out == 0 || !due {
            return Taken::Written { left_out: None };
        }
        self.told = Some(now);
        Taken::Written { left_out: Some(std::mem::take(&mut self.left_out)) }
    }
}

#[cfg(test)]
mod tests;

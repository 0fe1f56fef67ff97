//! How many lines a plugin may write over time, in all of its calls together.

use std::time::Duration;

use tokio::time::Instant;

/// Time for which a line counts: 100 a second, over time.
const PERIOD: Duration = Duration::from_millis(10);
/// Lines that may come at once: ten calls that each write as much as one may.
const BURST: u32 = 640;
/// How often it is reported how many lines were left out.
const REPORT_PERIOD: Duration = Duration::from_secs(60);

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineDecision {
    /// It is written, and if lines were left out since that was last reported, their number.
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
    reported_at: Option<Instant>,
}

impl Rate {
    /// Counts a line.
    pub(super) fn take(&mut self, now: Instant) -> LineDecision {
        let from = self.counts_until.map_or(now, |until| until.max(now));
        if from + PERIOD > now + PERIOD * BURST {
            self.left_out += 1;
            return LineDecision::LeftOut;
        }
        self.counts_until = Some(from + PERIOD);
        let due = self
            .reported_at
            .is_none_or(|reported_at| now.saturating_duration_since(reported_at) >= REPORT_PERIOD);
        if self.left_out == 0 || !due {
            return LineDecision::Written { left_out: None };
        }
        self.reported_at = Some(now);
        LineDecision::Written { left_out: Some(std::mem::take(&mut self.left_out)) }
    }
}

#[cfg(test)]
mod tests;

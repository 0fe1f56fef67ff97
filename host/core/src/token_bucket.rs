//! A bucket of tokens that fills up with time: at most so many at once, and so many per second in the long run
//! (upstream: `flowcontrol.NewTokenBucketRateLimiter`).

use std::time::Duration;

#[cfg(test)]
mod tests;

/// Rounding error of tokens that trickle in.
const ROUNDING: f64 = 1e-9;

/// The bucket. A value: the time, counted from any fixed moment, comes in from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    /// Negative while tokens are owed.
    tokens: f64,
    filled: Duration,
}

impl TokenBucket {
    /// Returns a full bucket of at least one token; none for a rate that is no limit: zero, less, or no number.
    pub fn new(per_second: f64, burst: u32, now: Duration) -> Option<Self> {
        let burst = f64::from(burst.max(1));
        let limits = per_second > 0.0 && per_second.is_finite();
        limits.then_some(Self { per_second, burst, tokens: burst, filled: now })
    }

    /// Takes a token; false if there is none.
    pub fn try_take(&mut self, now: Duration) -> bool {
        self.fill(now);
        let has_one = self.tokens >= 1.0 - ROUNDING;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }

    /// Takes a token, if need be one that is owed, and returns how long to wait before it may be used.
    pub fn take(&mut self, now: Duration) -> Duration {
        self.fill(now);
        self.tokens -= 1.0;
        // A debt that no duration can hold is one of more than 500 billion years.
        Duration::try_from_secs_f64((-self.tokens).max(0.0) / self.per_second).unwrap_or(Duration::MAX)
    }

    /// Takes back a token that wasn't used.
    pub fn put_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// A clock that goes back adds nothing.
    fn fill(&mut self, now: Duration) {
        let since = now.saturating_sub(self.filled);
        self.tokens = (self.tokens + since.as_secs_f64() * self.per_second).min(self.burst);
        self.filled = self.filled.max(now);
    }
}

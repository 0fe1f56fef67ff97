//! A bucket of tokens that fills up with time: at most so many at once, and so many per second in the long run
//! (upstream: `flowcontrol.NewTokenBucketRateLimiter`).

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// The bucket. A value: the time comes in from outside.
#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    size: f64,
    tokens: f64,
    filled_at: Instant,
}

impl TokenBucket {
    /// A full bucket of at least one token. With 0 per second there is no limit.
    pub(super) fn new(per_second: u32, size: u32, now: Instant) -> Self {
        let size = f64::from(size.max(1));
        Self { per_second: f64::from(per_second), size, tokens: size, filled_at: now }
    }

    /// Takes a token out; false if there is none.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if self.per_second <= 0.0 {
            return true;
        }
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.size);
        self.filled_at = now;
        let has_one = self.tokens >= 1.0;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }
}

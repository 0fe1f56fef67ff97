//! How many requests may be made: a bucket of tokens, as client-go has it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// A bucket that fills at a steady rate. Who takes from an empty one owes, and waits until the debt is paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    /// Since the bucket's beginning.
    filled: Duration,
}

impl Bucket {
    /// A full one; none for a rate that is no limit: zero, less, or no number.
    pub(crate) fn new(per_second: f64, burst: u32) -> Option<Self> {
        let burst = f64::from(burst.max(1));
        let limits = per_second > 0.0 && per_second.is_finite();
        limits.then_some(Self { per_second, burst, tokens: burst, filled: Duration::ZERO })
    }

    /// Takes one token at this time since the bucket's beginning, and says how long to wait before it may be used.
    pub(crate) fn take(&mut self, now: Duration) -> Duration {
        let since = now.saturating_sub(self.filled);
        self.tokens = (self.tokens + since.as_secs_f64() * self.per_second).min(self.burst) - 1.0;
        self.filled = self.filled.max(now);
        // A debt that no duration can hold is one of more than 500 billion years.
        Duration::try_from_secs_f64((-self.tokens).max(0.0) / self.per_second).unwrap_or(Duration::MAX)
    }

    /// Takes back a token that no one used.
    fn put_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }
}

/// A bucket that requests share.
#[derive(Debug)]
pub(crate) struct Rate {
    bucket: Mutex<Bucket>,
    begun: Instant,
}

impl Rate {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self { bucket: Mutex::new(bucket), begun: Instant::now() }
    }

    /// Returns when one more request may be made. First come, first served. Who gives up before that owes nothing: else those
    /// who give up would make all others wait longer and longer.
    pub(crate) async fn wait(&self) {
        let wait = self.bucket().take(self.begun.elapsed());
        if !wait.is_zero() {
            let mut claim = Claim { rate: self, is_used: false };
            tokio::time::sleep(wait).await;
            claim.is_used = true;
        }
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token that was taken and isn't used yet.
struct Claim<'a> {
    rate: &'a Rate,
    is_used: bool,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.is_used {
            self.rate.bucket().put_back();
        }
    }
}

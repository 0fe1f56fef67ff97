//! How many requests may be made, in order of arrival: a bucket of tokens, as client-go has it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::token_bucket::TokenBucket;

#[cfg(test)]
mod tests;

/// A bucket that requests share.
#[derive(Debug)]
pub(crate) struct Rate {
    bucket: Mutex<TokenBucket>,
    begun: Instant,
}

impl Rate {
    /// Returns none for a rate that is no limit.
    pub(crate) fn new(per_second: f64, burst: u32) -> Option<Self> {
        let bucket = TokenBucket::new(per_second, burst, Duration::ZERO)?;
        Some(Self { bucket: Mutex::new(bucket), begun: Instant::now() })
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

    fn bucket(&self) -> MutexGuard<'_, TokenBucket> {
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

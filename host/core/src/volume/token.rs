//! When a service account's token is replaced (upstream: `token_manager.go`).

use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

/// No token is used longer than this, however long it would be good for.
pub const AGE_MAX: SignedDuration = SignedDuration::from_hours(24);
/// So much earlier at most, by chance, so that not all tokens are replaced at once.
pub const JITTER_MAX: SignedDuration = SignedDuration::from_secs(10);
/// The part of a token's life, in hundredths, that is left when it is replaced.
const LEFT_PERCENT: i64 = 20;

/// The moment from which a token is to be replaced: when a fifth of its life is left, or after a day, and up to ten seconds
/// earlier by `jitter` (0 to 1). `lifetime_seconds` is what it was asked for or given for; it counts backwards from the end, for
/// the server's clock said when that is.
pub fn refresh_at(expires_at: Timestamp, lifetime_seconds: i64, jitter: f64) -> Timestamp {
    // No token is good for longer than 2^32 seconds.
    let lifetime_seconds = lifetime_seconds.clamp(0, i64::from(u32::MAX));
    let issued_at = earlier(expires_at, SignedDuration::from_secs(lifetime_seconds));
    let at_age = issued_at.saturating_add(AGE_MAX).unwrap_or(Timestamp::MAX);
    let at_end = earlier(expires_at, SignedDuration::from_secs(lifetime_seconds * LEFT_PERCENT / 100));
    earlier(at_age.min(at_end), JITTER_MAX.mul_f64(jitter.clamp(0.0, 1.0)))
}

fn earlier(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_sub(by).unwrap_or(Timestamp::MIN)
}

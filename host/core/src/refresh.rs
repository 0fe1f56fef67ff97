//! When what was fetched from elsewhere is fetched again, and when what is had of it is too old.

use std::time::Duration;

use jiff::Timestamp;

use crate::container::backoff::BackoffPolicy;

#[cfg(test)]
mod tests;

/// How often something is fetched unless its operator says otherwise.
pub const REFRESH_DEFAULT: Duration = Duration::from_secs(900);
/// The shortest interval.
pub const REFRESH_MIN: Duration = Duration::from_secs(10);
/// The longest interval.
pub const REFRESH_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// The shortest time after which something can count as too old.
pub const MAX_AGE_MIN: Duration = Duration::from_secs(60);
/// The longest.
pub const MAX_AGE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// What is too old after so many intervals at least: one fetch may fail.
pub const MAX_AGE_REFRESHES_MIN: u32 = 2;
/// The longest that a server may have us wait (`Retry-After`).
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// Failed fetches, and writes of what was fetched.
pub const RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(10), max: Duration::from_secs(300) };
/// The part of a wait that chance adds at most, so that the nodes of a cluster don't ask together.
const JITTER: f64 = 0.1;
/// The time of the last success is written again after this part of the time after which things are too old.
const CONFIRMATIONS: u32 = 16;

/// What came of the last fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// It is what it was, or something new.
    Fetched,
    /// It couldn't be had.
    Failed {
        /// So many times in a row, of which there is one at least.
        failures: u32,
        /// How long the server wants not to be asked.
        retry_after: Option<Duration>,
    },
}

/// How long after a fetch the next one is; `every` is none for what never changes. `chance` is from 0 to 1. None if there is none.
pub fn next_fetch(every: Option<Duration>, outcome: FetchOutcome, chance: f64) -> Option<Duration> {
    let wait = match outcome {
        FetchOutcome::Fetched => every?.clamp(REFRESH_MIN, REFRESH_MAX),
        FetchOutcome::Failed { failures, retry_after } => {
            RETRY.after(failures).max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX))
        }
    };
    Some(wait.saturating_add(wait.mul_f64(JITTER * chance.clamp(0.0, 1.0))))
}

/// Whether something is too old that was last known to be the newest so long ago; never without a bound.
pub fn is_too_old(age: Duration, max_age: Option<Duration>) -> bool {
    max_age.is_some_and(|max_age| age > max_age)
}

/// How old something is that was last known to be the newest at `confirmed`, by a clock that may have been set since.
pub fn age(confirmed: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(confirmed).try_into().unwrap_or_default()
}

/// Whether the time of the last success is worth a write: one that is much older was written last. Without a bound for the age no time is.
pub fn is_confirmation_due(written: Option<Timestamp>, now: Timestamp, max_age: Option<Duration>) -> bool {
    let Some(max_age) = max_age else { return false };
    written.is_none_or(|written| age(written, now) >= max_age / CONFIRMATIONS)
}

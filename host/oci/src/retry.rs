//! When a registry is asked again.

use std::time::Duration;

use witlet_core::container::backoff::BackoffPolicy;

/// How often one request is made at most.
pub const ATTEMPTS_MAX: u32 = 4;
/// What is waited before the second attempt; twice as long before each that follows.
pub const WAIT_MIN: Duration = Duration::from_millis(500);
/// The longest that a registry may have us wait (`Retry-After`).
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// What became of an attempt, as far as a repetition is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The registry answered with this status, and perhaps said when to come back.
    Answered {
        status: u16,
        /// `Retry-After` in seconds.
        retry_after: Option<u64>,
    },
    /// The connection failed before there was a whole answer.
    Broken,
}

/// Decides how long to wait before the next attempt, as [`wait`] does.
pub type Wait = fn(attempts: u32, last: Attempt) -> Option<Duration>;

/// How long to wait before the next attempt, after this many; none if there should be none.
pub fn wait(attempts: u32, last: Attempt) -> Option<Duration> {
    let usual = BackoffPolicy { initial: WAIT_MIN, max: WAIT_MAX }.after(attempts);
    let wait = match last {
        Attempt::Answered { status: 429 | 500..=599, retry_after } => {
            retry_after.map_or(usual, |seconds| usual.max(Duration::from_secs(seconds)))
        }
        Attempt::Answered { .. } => return None,
        Attempt::Broken => usual,
    };
    (attempts < ATTEMPTS_MAX).then_some(wait.min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_registry_are_waited_out_and_refusals_are_not() {
        let answered = |status, retry_after| Attempt::Answered { status, retry_after };
        let millis = |time: u64| Some(Duration::from_millis(time));
        let cases = [
            (1, answered(503, None), millis(500)),
            (2, answered(500, None), millis(1000)),
            (3, Attempt::Broken, millis(2000)),
            (4, answered(503, None), None),
            (4, Attempt::Broken, None),
            (1, answered(429, Some(7)), millis(7000)),
            (1, answered(429, Some(0)), millis(500)),
            (1, answered(503, Some(86_400)), millis(30_000)),
            (1, answered(404, None), None),
            (1, answered(401, None), None),
            (1, answered(200, None), None),
            (u32::MAX, Attempt::Broken, None),
        ];
        for (attempts, last, expected) in cases {
            assert_eq!(wait(attempts, last), expected, "after {attempts}: {last:?}");
        }
    }
}

//! When a plugin that didn't load is tried again.

use std::time::Duration;

use witlet_core::container::backoff::BackoffPolicy;

use tokio::time::Instant;

use crate::compile::CompileError;
use crate::plugin::{CallError, LoadError};

/// What may be better soon is tried again after this long; each further time takes twice as long.
pub(super) const RETRY_MIN: Duration = Duration::from_secs(10);
/// At most this long.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(300);
/// A component that the compiler didn't get through while other programs had the processors is tried again after this long; each further
/// time takes twice as long.
pub(super) const RETRY_LATE_MIN: Duration = Duration::from_secs(60);
/// At most this long.
pub(super) const RETRY_LATE_MAX: Duration = Duration::from_secs(3600);
/// A component that took the compiler too much CPU time or memory is tried again after this long, and then each time twice as long: a
/// compile bomb shall not keep the machine busy.
pub(super) const RETRY_COMPILE_MIN: Duration = Duration::from_secs(600);
/// At most this long.
pub(super) const RETRY_COMPILE_MAX: Duration = Duration::from_secs(6 * 3600);

/// The next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retry {
    pub(super) at: Instant,
    /// From the last try to this one.
    delay: Duration,
}

impl Retry {
    /// After a failure at `now`, `previous` being the try that failed, if it was one. None if only other bytes, another
    /// entry or other grants can help.
    pub(super) fn after(error: &LoadError, previous: Option<Self>, now: Instant) -> Option<Self> {
        let (initial, max) = bounds(error)?;
        let policy = BackoffPolicy { initial, max };
        let delay = previous.map_or(initial, |previous| policy.next(previous.delay).max(initial));
        Some(Self { at: now + delay, delay })
    }
}

/// How soon and how rarely another try makes sense; none if the same bytes fail in the same way each time.
fn bounds(error: &LoadError) -> Option<(Duration, Duration)> {
    const SOON: Option<(Duration, Duration)> = Some((RETRY_MIN, RETRY_MAX));
    const LATE: Option<(Duration, Duration)> = Some((RETRY_LATE_MIN, RETRY_LATE_MAX));
    const RARELY: Option<(Duration, Duration)> = Some((RETRY_COMPILE_MIN, RETRY_COMPILE_MAX));
    match error {
        LoadError::Read { .. }
        | LoadError::Fetch(_)
        // An operator may sign or push one, and what is kept out isn't compiled.
        | LoadError::Conformance(_)
        | LoadError::Signature(_)
        | LoadError::StateFolder { .. }
        | LoadError::Folder { .. }
        | LoadError::Engine(_)
        | LoadError::Interrupted => SOON,
        LoadError::Refused { .. }
        | LoadError::Mismatch { .. }
        | LoadError::Needs(_)
        // When it is there, it is another specification.
        | LoadError::Missing { .. }
        | LoadError::Schema { .. }
        | LoadError::NoFetcher
        | LoadError::NoStateFolder => None,
        // It may check a secret or the clock.
        LoadError::Configuration { .. } => SOON,
        LoadError::Compile(error) => match error {
            CompileError::TooLarge { .. }
            | CompileError::NotAComponent { .. }
            | CompileError::Invalid { .. }
            | CompileError::OutputTooLarge { .. } => None,
            CompileError::Late { .. } | CompileError::Stalled { .. } => LATE,
            CompileError::Timeout { .. } | CompileError::OutOfMemory { .. } => RARELY,
            CompileError::Failed { .. }
            | CompileError::Child { .. }
            | CompileError::Cache(_)
            | CompileError::Unfit { .. }
            | CompileError::Ending => SOON,
        },
        LoadError::Validate(error) => validate_bounds(error),
    }
}

/// The machine may have been too busy for a guest's deadline, and someone may clear a folder up; what else a guest does
/// it does again.
fn validate_bounds(error: &CallError) -> Option<(Duration, Duration)> {
    match error {
        CallError::Timeout { .. }
        | CallError::Busy
        | CallError::Host
        | CallError::Loading
        | CallError::State(_) => Some((RETRY_MIN, RETRY_MAX)),
        CallError::Trap { .. }
        | CallError::StackOverflow
        | CallError::OutOfMemory { .. }
        | CallError::OutOfTable { .. }
        | CallError::WouldBlock(_)
        | CallError::TooMuchData { .. }
        | CallError::Exited { .. }
        | CallError::BadAnswer { .. }
        | CallError::Refused { .. }
        | CallError::NotLoaded { .. }
        | CallError::Mismatch { .. }
        | CallError::Quarantined { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(error: &LoadError, until: u64) -> Vec<u64> {
        let start = Instant::now();
        let mut tries = Vec::new();
        let mut retry = Retry::after(error, None, start);
        while let Some(next) = retry.filter(|next| next.at <= start + Duration::from_secs(until)) {
            tries.push((next.at - start).as_secs());
            retry = Retry::after(error, Some(next), next.at);
        }
        tries
    }

    #[test]
    fn what_may_be_better_soon_is_tried_less_and_less_often() {
        let missing = LoadError::Read { path: "a.wasm".into(), cause: std::io::ErrorKind::NotFound.into() };
        assert_eq!(tries(&missing, 1000), [10, 30, 70, 150, 310, 610, 910]);
        let busy = LoadError::Validate(CallError::Busy);
        assert_eq!(tries(&busy, 30), [10, 30]);
    }

    #[test]
    fn what_took_the_compiler_too_long_is_tried_rarely() {
        let bomb = LoadError::Compile(CompileError::Timeout { limit: Duration::from_secs(60) });
        assert_eq!(tries(&bomb, 24 * 3600), [600, 1800, 4200, 9000, 18600, 37800, 59400, 81000]);
    }

    #[test]
    fn what_a_busy_machine_did_not_compile_is_tried_sooner_than_a_bomb() {
        let late = LoadError::Compile(CompileError::Late { limit: Duration::from_secs(180) });
        let stalled = LoadError::Compile(CompileError::Stalled { limit: Duration::from_secs(180) });
        for error in [&late, &stalled] {
            assert_eq!(tries(error, 10_000), [60, 180, 420, 900, 1860, 3780, 7380]);
        }
    }

    #[test]
    fn what_fails_in_the_same_way_each_time_is_not_tried_again() {
        let own = [
            LoadError::Refused { obstacles: Vec::new() },
            LoadError::Compile(CompileError::Invalid { message: String::new() }),
            LoadError::Compile(CompileError::TooLarge { bytes: 1 }),
            LoadError::Validate(CallError::StackOverflow),
            LoadError::Mismatch { message: String::new() },
        ];
        for error in own {
            assert_eq!(Retry::after(&error, None, Instant::now()), None, "{error}");
        }
    }
}

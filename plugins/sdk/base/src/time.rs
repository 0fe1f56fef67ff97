//! Deadlines on a clock that never jumps.

use std::time::Duration;

/// The moment at which something has to be over.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_base::time::Deadline;
/// let deadline = Deadline::after(Duration::from_secs(5));
/// assert!(deadline.left() <= Duration::from_secs(5));
/// assert_eq!(Deadline::after(Duration::ZERO).left(), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Moment);

#[cfg(target_family = "wasm")]
type Moment = u64;
#[cfg(not(target_family = "wasm"))]
type Moment = std::time::Instant;

/// A deadline that lies further ahead than this is taken for this.
const AHEAD_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

impl Deadline {
    /// So long from now, a year at most.
    pub fn after(time: Duration) -> Self {
        let time = time.min(AHEAD_MAX);
        #[cfg(target_family = "wasm")]
        return Self(now().saturating_add(nanoseconds(time)));
        #[cfg(not(target_family = "wasm"))]
        Self(now() + time)
    }

    /// What is left; zero once it is over.
    pub fn left(self) -> Duration {
        #[cfg(target_family = "wasm")]
        return Duration::from_nanos(self.0.saturating_sub(now()));
        #[cfg(not(target_family = "wasm"))]
        self.0.saturating_duration_since(now())
    }
}

/// A time for people, such as `1s` or `0.3s`: in hundredths of a second, rounded up, so that the little that was counted off
/// before a probe asked how long it may take doesn't show.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_base::time::seconds;
/// assert_eq!(seconds(Duration::from_millis(2_998)), "3s");
/// assert_eq!(seconds(Duration::from_millis(300)), "0.3s");
/// assert_eq!(seconds(Duration::from_millis(1_250)), "1.25s");
/// assert_eq!(seconds(Duration::ZERO), "0s");
/// ```
pub fn seconds(time: Duration) -> String {
    let hundredths = time.as_millis().div_ceil(10);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match (rest / 10, rest % 10) {
        (0, 0) => format!("{whole}s"),
        (tenths, 0) => format!("{whole}.{tenths}s"),
        _ => format!("{whole}.{rest:02}s"),
    }
}

#[cfg(target_family = "wasm")]
fn now() -> Moment {
    wasip2::clocks::monotonic_clock::now()
}

#[cfg(not(target_family = "wasm"))]
#[allow(
    clippy::disallowed_methods,
    reason = "stands in for the component's own clock, on the developer's machine"
)]
fn now() -> Moment {
    std::time::Instant::now()
}

#[cfg(target_family = "wasm")]
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits until something is ready, or the deadline is over; then it is false.
#[cfg(target_family = "wasm")]
pub(crate) fn wait(pollable: &wasip2::io::poll::Pollable, deadline: Deadline) -> bool {
    let timer = wasip2::clocks::monotonic_clock::subscribe_instant(deadline.0);
    wasip2::io::poll::poll(&[pollable, &timer]).contains(&0)
}

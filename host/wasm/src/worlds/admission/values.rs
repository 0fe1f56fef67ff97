//! Values that adapters of all tracks hand out in the same form.

use jiff::Timestamp;

pub(super) use crate::worlds::maps::pairs;

/// Seconds and nanoseconds since 1970. Seconds are rounded down, so that nanoseconds are never negative.
pub(super) fn since_epoch(now: Timestamp) -> (i64, u32) {
    let nanoseconds = now.as_nanosecond();
    (
        i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
        u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
    )
}

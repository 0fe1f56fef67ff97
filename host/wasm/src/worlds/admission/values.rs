//! Values that adapters of all tracks hand out in the same form.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// The entries of a map of the API's.
pub(super) fn pairs(map: Option<&BTreeMap<String, String>>) -> Vec<(String, String)> {
    map.map(|map| map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()).unwrap_or_default()
}

/// Seconds and nanoseconds since 1970. Seconds are rounded down, so that nanoseconds are never negative.
pub(super) fn since_epoch(now: Timestamp) -> (i64, u32) {
    let nanoseconds = now.as_nanosecond();
    (
        i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
        u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
    )
}

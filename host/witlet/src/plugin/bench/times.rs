//! How long calls took: percentiles, and when enough was measured.

use std::time::Duration;

/// Percentiles of the time of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// How many calls were measured.
    pub(super) calls: usize,
    /// Half of the calls took at most so long.
    pub(super) p50: Duration,
    /// 90 of 100 calls.
    pub(super) p90: Duration,
    /// 99 of 100 calls.
    pub(super) p99: Duration,
}

impl Times {
    /// Returns the percentiles of these calls by the nearest rank; `None` without calls.
    pub(super) fn of(mut calls: Vec<Duration>) -> Option<Self> {
        calls.sort_unstable();
        let rank = |percent: usize| calls.get((calls.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        Some(Self { calls: calls.len(), p50: rank(50)?, p90: rank(90)?, p99: rank(99)? })
    }
}

/// The middle one of a few measurements, the shorter of two; none of none.
pub(super) fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

/// Whether another call is to be measured: there are too few yet, and there is time. The first one always is.
pub(super) fn goes_on(done: u32, requested: u32, spent: Duration, allowed: Duration) -> bool {
    done < requested && (done == 0 || spent < allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn percentiles_are_calls_that_were_made() {
        let hundred = (1..=100).rev().map(ms).collect();
        assert_eq!(Times::of(hundred), Some(Times { calls: 100, p50: ms(50), p90: ms(90), p99: ms(99) }));
        assert_eq!(Times::of(vec![ms(7)]), Some(Times { calls: 1, p50: ms(7), p90: ms(7), p99: ms(7) }));
        assert_eq!(
            Times::of(vec![ms(1), ms(9)]),
            Some(Times { calls: 2, p50: ms(1), p90: ms(9), p99: ms(9) })
        );
        assert_eq!(Times::of(Vec::new()), None);
    }

    #[test]
    fn the_median_is_one_of_the_measurements() {
        let cases = [(vec![], None), (vec![5], Some(5)), (vec![9, 1], Some(1)), (vec![9, 1, 4], Some(4))];
        for (times, middle) in cases {
            assert_eq!(median(times.into_iter().map(ms).collect()), middle.map(ms));
        }
    }

    #[test]
    fn a_measurement_ends_with_its_calls_or_its_time_but_has_one_call() {
        let cases = [
            ((0, 10, 99, 10), true),
            ((1, 10, 9, 10), true),
            ((1, 10, 10, 10), false),
            ((10, 10, 0, 10), false),
            ((0, 0, 0, 10), false),
        ];
        for ((done, requested, spent, allowed), more) in cases {
            assert_eq!(goes_on(done, requested, ms(spent), ms(allowed)), more, "{done} of {requested}");
        }
    }
}

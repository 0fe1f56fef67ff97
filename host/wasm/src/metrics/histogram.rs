//! A histogram of durations that is filled without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, inclusive. What takes longer than the last is counted in a bucket without a bound.
pub const BUCKETS: [Duration; 20] = [
    Duration::from_micros(10),
    Duration::from_micros(25),
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

/// Counts durations in [`BUCKETS`].
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// Counts one.
    pub fn observe(&self, took: Duration) {
        let bucket = BUCKETS.partition_point(|bound| *bound < took);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(super::nanoseconds(took), Ordering::Relaxed);
    }

    /// How many there were in each bucket, the one without a bound last; not summed up.
    pub fn counts(&self) -> [u64; BUCKETS.len() + 1] {
        std::array::from_fn(|bucket| self.counts[bucket].load(Ordering::Relaxed))
    }

    /// Returns the sum of all observations.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// What this share of the calls (between 0 and 1) didn't exceed; none before the first. An estimate: within a bucket
    /// the calls count as spread evenly, and beyond the last bound that bound is the answer (as Prometheus'
    /// `histogram_quantile` has it).
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let counts = self.counts();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let rank = share.clamp(0.0, 1.0) * total as f64;
        let mut below = 0.0;
        for (bucket, count) in counts.into_iter().enumerate() {
            let count = count as f64;
            if count > 0.0 && below + count >= rank {
                let Some(upper) = BUCKETS.get(bucket) else { break };
                let lower = bucket.checked_sub(1).map_or(Duration::ZERO, |before| BUCKETS[before]);
                return Some(lower + (*upper - lower).mul_f64((rank - below).max(0.0) / count));
            }
            below += count;
        }
        BUCKETS.last().copied()
    }
}

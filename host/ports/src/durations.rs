//! Durations as monitoring counts them.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// Upper bounds of the buckets, inclusive.
const BOUNDS: [Duration; 11] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Counts durations in the buckets that Prometheus' clients have by default, which the kubelet uses, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationHistogram {
    /// The last one is of what exceeds all bounds.
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

impl DurationHistogram {
    /// Counts one more.
    pub fn observe(&mut self, took: Duration) {
        let bucket = BOUNDS.partition_point(|bound| *bound < took);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }

    /// Counts also what the other one has counted.
    pub fn add(&mut self, other: &Self) {
        for (count, of_other) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(of_other);
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Upper bound in seconds and count of each bucket, those below it not included. The last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
        bounds.zip(self.counts)
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }
}

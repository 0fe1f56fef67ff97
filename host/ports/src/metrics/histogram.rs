//! Observations in buckets, as monitoring counts them.

use super::DEFAULT_BUCKETS;

#[cfg(test)]
mod tests;

/// Counts observations by their size.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Upper bounds, inclusive and ascending; a bucket without a bound follows.
    bounds: &'static [f64],
    /// Of each bucket without those below.
    counts: Box<[u64]>,
    sum: f64,
}

/// With [`DEFAULT_BUCKETS`].
impl Default for Histogram {
    fn default() -> Self {
        Self::new(DEFAULT_BUCKETS)
    }
}

impl Histogram {
    /// None yet. `bounds` are upper bounds, inclusive and ascending.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1].into(), sum: 0.0 }
    }

    /// Counts one more.
    pub fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += value;
    }

    /// Counts also what the other one has counted, which must have the same buckets.
    pub fn add(&mut self, other: &Self) {
        for (count, of_other) in self.counts.iter_mut().zip(&other.counts) {
            *count += of_other;
        }
        self.sum += other.sum;
    }

    /// Upper bound and count of each bucket, those below it not included. The last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        self.bounds.iter().copied().chain([f64::INFINITY]).zip(self.counts.iter().copied())
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

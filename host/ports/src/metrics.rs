//! What a part of the agent shows to monitoring, and what it counts with.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use witlet_core::stats::exposition::{Exposition, Kind};

#[cfg(test)]
mod tests;

/// Upper bounds in seconds that Prometheus' clients have by default.
pub const DEFAULT_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Series of one family; what has further labels isn't counted.
const SERIES_MAX: usize = 512;

/// A part of the agent that has metrics.
pub trait MetricsSource: Send + Sync {
    /// Writes its families as they are now, without waiting. Names are its own: no other source has them.
    fn write(&self, to: &mut Exposition);
}

/// Counts by labels, for a bounded number of series. `L` is the labels' values in the order of their names.
#[derive(Debug)]
pub struct Counters<const L: usize> {
    labels: [&'static str; L],
    counts: Mutex<BTreeMap<[String; L], u64>>,
}

impl<const L: usize> Counters<L> {
    /// None yet.
    pub fn new(labels: [&'static str; L]) -> Self {
        Self { labels, counts: Mutex::default() }
    }

    /// Counts one more.
    pub fn add(&self, values: [&str; L]) {
        let mut counts = lock(&self.counts);
        let values = values.map(str::to_owned);
        if let Some(count) = counts.get_mut(&values) {
            *count += 1;
        } else if counts.len() < SERIES_MAX {
            counts.insert(values, 1);
        }
    }

    /// Writes them as a family; without any it isn't written, unless it has no labels.
    pub fn write(&self, to: &mut Exposition, name: &str, help: &str) {
        let mut family = to.family(name, help, Kind::Counter);
        let counts = lock(&self.counts);
        for (values, count) in counts.iter() {
            family.sample(&labelled(self.labels, values), *count as f64);
        }
        if counts.is_empty() && L == 0 {
            family.sample(&[], 0.0);
        }
    }
}

/// Histograms of durations by labels, for a bounded number of series.
#[derive(Debug)]
pub struct Durations<const L: usize> {
    labels: [&'static str; L],
    /// In ascending order; one without a bound follows.
    bounds: &'static [f64],
    series: Mutex<BTreeMap<[String; L], Observed>>,
}

/// What was observed of one series.
#[derive(Debug)]
struct Observed {
    /// Of each bucket without those below; the last one is of what exceeds all bounds.
    counts: Box<[u64]>,
    seconds: f64,
}

impl<const L: usize> Durations<L> {
    /// None yet. `bounds` are upper bounds in seconds, inclusive and ascending.
    pub fn new(labels: [&'static str; L], bounds: &'static [f64]) -> Self {
        Self { labels, bounds, series: Mutex::default() }
    }

    /// Counts one more.
    pub fn observe(&self, values: [&str; L], took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        let mut series = lock(&self.series);
        let values = values.map(str::to_owned);
        if !series.contains_key(&values) && series.len() >= SERIES_MAX {
            return;
        }
        let empty = || Observed { counts: vec![0; self.bounds.len() + 1].into(), seconds: 0.0 };
        let observed = series.entry(values).or_insert_with(empty);
        observed.seconds += seconds;
        if let Some(count) = observed.counts.get_mut(bucket) {
            *count += 1;
        }
    }

    /// Writes them as a family; without any it isn't written, unless it has no labels.
    pub fn write(&self, to: &mut Exposition, name: &str, help: &str) {
        let mut family = to.family(name, help, Kind::Histogram);
        let bounds = || self.bounds.iter().copied().chain([f64::INFINITY]);
        let series = lock(&self.series);
        for (values, observed) in series.iter() {
            let buckets = bounds().zip(observed.counts.iter().copied());
            family.histogram(&labelled(self.labels, values), buckets, observed.seconds);
        }
        if series.is_empty() && L == 0 {
            family.histogram(&[], bounds().map(|bound| (bound, 0)), 0.0);
        }
    }
}

fn labelled<'a, const L: usize>(
    labels: [&'static str; L],
    values: &'a [String; L],
) -> [(&'a str, &'a str); L] {
    std::array::from_fn(|at| {
        let label = labels.get(at).copied().unwrap_or_default();
        (label, values.get(at).map(String::as_str).unwrap_or_default())
    })
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What a part of the agent shows to monitoring, and what it counts with.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use witlet_core::stats::exposition::{Exposition, Kind};

mod histogram;
#[cfg(test)]
mod tests;

pub use histogram::Histogram;

/// Upper bounds in seconds that Prometheus' clients have by default.
pub const DEFAULT_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Series of one family; what has further labels isn't counted.
const SERIES_MAX: usize = 512;

/// A part of the agent that has metrics.
pub trait MetricsSource: Send + Sync {
    /// Writes its families as they are now, without waiting. Names are its own: no other source has them.
    fn write(&self, to: &mut Exposition);
}

/// A family that counts by labels, for a bounded number of series. `L` is the number of labels.
#[derive(Debug)]
pub struct Counters<const L: usize> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; L],
    /// By the labels' values, in the order of their names.
    counts: Mutex<BTreeMap<[String; L], u64>>,
}

impl<const L: usize> Counters<L> {
    /// None yet. `help` is one line.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; L]) -> Self {
        Self { name, help, labels, counts: Mutex::default() }
    }

    /// Shows these series before anything is counted in them.
    #[must_use]
    pub fn from_zero<const N: usize>(self, series: [[&str; L]; N]) -> Self {
        lock(&self.counts).extend(series.map(|values| (values.map(str::to_owned), 0)));
        self
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
}

/// Without any it isn't written, unless it has no labels.
impl<const L: usize> MetricsSource for Counters<L> {
    fn write(&self, to: &mut Exposition) {
        let mut family = to.family(self.name, self.help, Kind::Counter);
        let counts = lock(&self.counts);
        for (values, count) in counts.iter() {
            family.sample(&labelled(self.labels, values), *count as f64);
        }
        if counts.is_empty() && L == 0 {
            family.sample(&[], 0.0);
        }
    }
}

/// A family of histograms by labels, for a bounded number of series.
#[derive(Debug)]
pub struct Histograms<const L: usize> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; L],
    bounds: &'static [f64],
    series: Mutex<BTreeMap<[String; L], Histogram>>,
}

impl<const L: usize> Histograms<L> {
    /// None yet. `help` is one line; `bounds` are upper bounds, inclusive and ascending, of durations in seconds.
    pub fn new(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; L],
        bounds: &'static [f64],
    ) -> Self {
        Self { name, help, labels, bounds, series: Mutex::default() }
    }

    /// Counts one more.
    pub fn observe(&self, values: [&str; L], value: f64) {
        let mut series = lock(&self.series);
        let values = values.map(str::to_owned);
        if series.contains_key(&values) || series.len() < SERIES_MAX {
            series.entry(values).or_insert_with(|| Histogram::new(self.bounds)).observe(value);
        }
    }

    /// Counts one more, in seconds.
    pub fn observe_duration(&self, values: [&str; L], took: Duration) {
        self.observe(values, took.as_secs_f64());
    }
}

/// Without any it isn't written, unless it has no labels.
impl<const L: usize> MetricsSource for Histograms<L> {
    fn write(&self, to: &mut Exposition) {
        let mut family = to.family(self.name, self.help, Kind::Histogram);
        let series = lock(&self.series);
        for (values, histogram) in series.iter() {
            family.histogram(&labelled(self.labels, values), histogram.buckets(), histogram.sum());
        }
        if series.is_empty() && L == 0 {
            family.histogram(&[], Histogram::new(self.bounds).buckets(), 0.0);
        }
    }
}

/// A family of one figure that is set; 0 until then.
#[derive(Debug)]
pub struct Gauge {
    name: &'static str,
    help: &'static str,
    value: Mutex<f64>,
}

impl Gauge {
    /// 0. `help` is one line.
    pub fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, value: Mutex::default() }
    }

    /// The figure from now on.
    pub fn set(&self, value: f64) {
        *lock(&self.value) = value;
    }

    /// The figure, where none was set yet. Says whether that was so; 0 counts as none.
    pub fn set_once(&self, value: f64) -> bool {
        let mut current = lock(&self.value);
        let is_first = *current == 0.0;
        if is_first {
            *current = value;
        }
        is_first
    }
}

impl MetricsSource for Gauge {
    fn write(&self, to: &mut Exposition) {
        to.gauge(self.name, self.help, *lock(&self.value));
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

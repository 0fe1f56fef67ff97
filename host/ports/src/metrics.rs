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
/// Series of one family; what has further labels is counted as dropped ([`Exposition::dropped`]).
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
    counts: Mutex<Series<L, u64>>,
}

/// The series of a family, and how many observations had none.
#[derive(Debug)]
struct Series<const L: usize, T> {
    /// By the labels' values, in the order of their names.
    by_labels: BTreeMap<[String; L], T>,
    dropped: u64,
}

impl<const L: usize, T> Default for Series<L, T> {
    fn default() -> Self {
        Self { by_labels: BTreeMap::new(), dropped: 0 }
    }
}

impl<const L: usize, T> Series<L, T> {
    /// The series with these labels, which is made if there is capacity; none counts as dropped.
    fn get_or_make(&mut self, values: [&str; L], make: impl FnOnce() -> T) -> Option<&mut T> {
        let values = values.map(str::to_owned);
        if self.by_labels.len() >= SERIES_MAX && !self.by_labels.contains_key(&values) {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        }
        Some(self.by_labels.entry(values).or_insert_with(make))
    }
}

impl<const L: usize> Counters<L> {
    /// Creates counters without series; `help` must be one line.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; L]) -> Self {
        Self { name, help, labels, counts: Mutex::default() }
    }

    /// Shows these series before anything is counted in them.
    #[must_use]
    pub fn from_zero<const N: usize>(self, series: [[&str; L]; N]) -> Self {
        lock(&self.counts).by_labels.extend(series.map(|values| (values.map(str::to_owned), 0)));
        self
    }

    /// Counts one more.
    pub fn add(&self, values: [&str; L]) {
        if let Some(count) = lock(&self.counts).get_or_make(values, || 0) {
            *count += 1;
        }
    }
}

/// Without any it isn't written, unless it has no labels.
impl<const L: usize> MetricsSource for Counters<L> {
    fn write(&self, to: &mut Exposition) {
        let Series { by_labels, dropped } = &*lock(&self.counts);
        let mut family = to.family(self.name, self.help, Kind::Counter);
        for (values, count) in by_labels {
            family.sample(&labelled(self.labels, values), *count as f64);
        }
        if by_labels.is_empty() && L == 0 {
            family.sample(&[], 0.0);
        }
        to.dropped(self.name, *dropped);
    }
}

/// A family of histograms by labels, for a bounded number of series.
#[derive(Debug)]
pub struct Histograms<const L: usize> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; L],
    bounds: &'static [f64],
    series: Mutex<Series<L, Histogram>>,
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
        if let Some(of) = lock(&self.series).get_or_make(values, || Histogram::new(self.bounds)) {
            of.observe(value);
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
        let Series { by_labels, dropped } = &*lock(&self.series);
        let mut family = to.family(self.name, self.help, Kind::Histogram);
        for (values, histogram) in by_labels {
            family.histogram(&labelled(self.labels, values), histogram.buckets(), histogram.sum());
        }
        if by_labels.is_empty() && L == 0 {
            family.histogram(&[], Histogram::new(self.bounds).buckets(), 0.0);
        }
        to.dropped(self.name, *dropped);
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

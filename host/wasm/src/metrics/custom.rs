//! Numbers of plugins' own, within bounds: what is beyond is left out and counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What the names of their families begin with.
pub(crate) const PREFIX: &str = "witlet_plugin_custom_";
/// How many series a plugin can have, counters and histograms together.
pub(crate) const SERIES_MAX: usize = 64;
/// Bytes of a name at most.
const NAME_BYTES_MAX: usize = 64;
/// Labels of a series at most.
const LABELS_MAX: usize = 4;
/// Bytes of a label's key at most.
const KEY_BYTES_MAX: usize = 32;
/// Bytes of a label's value at most.
const VALUE_BYTES_MAX: usize = 64;
/// Keys that the host or a histogram has.
const RESERVED_KEYS: [&str; 2] = ["plugin", "le"];
/// Upper bounds of a histogram's buckets, inclusive. What is larger than the last is counted in a bucket without a bound.
pub(crate) const BUCKETS: [f64; 19] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0,
    500.0, 1000.0,
];

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// It has a name that isn't one.
    Name,
    /// It has labels that aren't any, or too many.
    Labels,
    /// It has a value that can't be observed.
    Value,
    /// It would be a series too many.
    Series,
}

impl LeftOut {
    /// All of them.
    const ALL: [Self; 4] = [Self::Name, Self::Labels, Self::Value, Self::Series];

    /// The value of the label `reason`.
    fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Labels => "labels",
            Self::Value => "value",
            Self::Series => "series",
        }
    }
}

/// A name with labels, sorted by their keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
}

/// Observations of one series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observations {
    /// In each bucket, the one without a bound last; not summed up.
    pub(crate) counts: [u64; BUCKETS.len() + 1],
    pub(crate) sum: f64,
}

/// What a plugin counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CustomNumbers {
    pub(crate) counters: BTreeMap<Series, u64>,
    pub(crate) histograms: BTreeMap<Series, Observations>,
    left_out: [u64; LeftOut::ALL.len()],
}

impl CustomNumbers {
    /// Returns what was left out, by reasons that there were.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = LeftOut::ALL.into_iter().map(|reason| (reason.as_str(), self.left_out[reason as usize]));
        counts.filter(|(_, count)| *count > 0)
    }

    fn has_capacity(&self) -> bool {
        self.counters.len() + self.histograms.len() < SERIES_MAX
    }

    fn add(&mut self, name: String, labels: Vec<(String, String)>, amount: u64) -> Result<(), LeftOut> {
        let series = Series::new(name, labels)?;
        if !self.counters.contains_key(&series) && !self.has_capacity() {
            return Err(LeftOut::Series);
        }
        let count = self.counters.entry(series).or_default();
        *count = count.saturating_add(amount);
        Ok(())
    }

    fn observe(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> Result<(), LeftOut> {
        if !value.is_finite() || value < 0.0 {
            return Err(LeftOut::Value);
        }
        // They would be taken for parts of another histogram, or for a counter.
        let suffixes = ["_total", "_bucket", "_sum", "_count"];
        if suffixes.iter().any(|suffix| name.ends_with(suffix)) {
            return Err(LeftOut::Name);
        }
        let series = Series::new(name, labels)?;
        if !self.histograms.contains_key(&series) && !self.has_capacity() {
            return Err(LeftOut::Series);
        }
        let observations = self.histograms.entry(series).or_default();
        let bucket = BUCKETS.partition_point(|bound| *bound < value);
        observations.counts[bucket] = observations.counts[bucket].saturating_add(1);
        observations.sum += value;
        Ok(())
    }
}

impl Series {
    fn new(name: String, mut labels: Vec<(String, String)>) -> Result<Self, LeftOut> {
        if !is_name(&name, NAME_BYTES_MAX) {
            return Err(LeftOut::Name);
        }
        let fits = |(key, value): &(String, String)| {
            is_name(key, KEY_BYTES_MAX) && !RESERVED_KEYS.contains(&&**key) && value.len() <= VALUE_BYTES_MAX
        };
        labels.sort();
        let is_twice = labels.iter().zip(labels.iter().skip(1)).any(|(one, next)| one.0 == next.0);
        if labels.len() > LABELS_MAX || is_twice || !labels.iter().all(fits) {
            return Err(LeftOut::Labels);
        }
        Ok(Self { name, labels })
    }
}

fn is_name(text: &str, bytes_max: usize) -> bool {
    let letters = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    letters && text.len() <= bytes_max && text.starts_with(|first: char| first.is_ascii_lowercase())
}

/// The numbers of one plugin, which its instances add to.
#[derive(Debug, Default)]
pub(crate) struct CustomMetrics(Mutex<CustomNumbers>);

impl CustomMetrics {
    /// Adds to a counter.
    pub(crate) fn add(&self, name: String, labels: Vec<(String, String)>, amount: u64) {
        self.note(|numbers| numbers.add(name, labels, amount));
    }

    /// Adds an observation to a histogram.
    pub(crate) fn observe(&self, name: String, labels: Vec<(String, String)>, value: f64) {
        self.note(|numbers| numbers.observe(name, labels, value));
    }

    fn note(&self, add: impl FnOnce(&mut CustomNumbers) -> Result<(), LeftOut>) {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(reason) = add(&mut numbers) {
            let count = &mut numbers.left_out[reason as usize];
            *count = count.saturating_add(1);
        }
    }

    /// Returns what was counted so far.
    pub(crate) fn numbers(&self) -> CustomNumbers {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests;

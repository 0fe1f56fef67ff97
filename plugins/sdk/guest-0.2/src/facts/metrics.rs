//! Numbers that a plugin has added or observed in a test.

use std::cell::RefCell;

/// How many numbers a thread keeps for [`take_metrics`]; later ones are dropped.
pub(crate) const METRICS_MAX: usize = 1_000;

thread_local! {
    static METRICS: RefCell<Vec<Metric>> = const { RefCell::new(Vec::new()) };
}

/// A number as the plugin gave it: what the host would leave out isn't left out here.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name, without the host's part.
    pub name: String,
    /// Keys and values.
    pub labels: Vec<(String, String)>,
    /// What became of it.
    pub value: MetricValue,
}

/// What is done with a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue {
    /// It was added to a counter.
    Added(u64),
    /// A histogram has observed it.
    Observed(f64),
}

impl Metric {
    /// What [`metrics::add`](crate::metrics::add) leaves.
    pub fn added(name: &str, labels: &[(&str, &str)], amount: u64) -> Self {
        Self::of(name, labels, MetricValue::Added(amount))
    }

    /// What [`metrics::observe`](crate::metrics::observe) leaves.
    pub fn observed(name: &str, labels: &[(&str, &str)], value: f64) -> Self {
        Self::of(name, labels, MetricValue::Observed(value))
    }

    fn of(name: &str, labels: &[(&str, &str)], value: MetricValue) -> Self {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Self { name: name.to_owned(), labels, value }
    }
}

/// Takes what this thread has added and observed so far.
pub fn take_metrics() -> Vec<Metric> {
    METRICS.take()
}

pub(crate) fn record(metric: Metric) {
    METRICS.with_borrow_mut(|metrics| {
        if metrics.len() < METRICS_MAX {
            metrics.push(metric);
        }
    });
}

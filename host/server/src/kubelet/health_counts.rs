//! How the checks of `/healthz` went (upstream: `component-base/metrics/prometheus/slis`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use witlet_core::stats::exposition::{Exposition, Kind};

#[cfg(test)]
mod tests;

/// How one check went so far.
#[derive(Clone, Copy, Debug, Default)]
struct CheckCounts {
    is_well: bool,
    successes: u64,
    errors: u64,
}

/// Counts the checks of `/healthz`, on all ports together. There are as many as the server has checks.
#[derive(Debug, Default)]
pub(super) struct HealthCounts(Mutex<BTreeMap<&'static str, CheckCounts>>);

impl HealthCounts {
    /// Counts a check.
    pub(super) fn observe(&self, name: &'static str, is_well: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = all.entry(name).or_default();
        counts.is_well = is_well;
        let count = if is_well { &mut counts.successes } else { &mut counts.errors };
        *count += 1;
    }

    /// Begins again.
    pub(super) fn reset(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Shows them.
    pub(super) fn write(&self, to: &mut Exposition) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let help = "[STABLE] This metric records the result of a single healthcheck.";
        let mut family = to.family("kubernetes_healthcheck", help, Kind::Gauge);
        for (name, counts) in &all {
            family.sample(&[("name", name), ("type", "healthz")], f64::from(u8::from(counts.is_well)));
        }
        let help = "[STABLE] This metric records the results of all healthcheck.";
        let mut family = to.family("kubernetes_healthchecks_total", help, Kind::Counter);
        for (name, counts) in &all {
            for (status, count) in [("error", counts.errors), ("success", counts.successes)] {
                if count > 0 {
                    family.sample(&[("name", name), ("status", status), ("type", "healthz")], count as f64);
                }
            }
        }
    }
}

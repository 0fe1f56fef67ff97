//! `/metrics/slis`: how the checks of `/healthz` went (upstream: `component-base/metrics/prometheus/slis`), and `/metrics/probes`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hyper::Method;
use jiff::Timestamp;
use witlet_core::stats::exposition::{Exposition, Kind};

use super::{KubeletServer, answers};
use crate::metrics::exposed;

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

    fn reset(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn write(&self, to: &mut Exposition) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let help = "[STABLE] 1 if the check passed when it was last made, 0 if it failed";
        let mut family = to.family("kubernetes_healthcheck", help, Kind::Gauge);
        for (name, counts) in &all {
            family.sample(&[("name", name), ("type", "healthz")], f64::from(u8::from(counts.is_well)));
        }
        let help = "[STABLE] Checks by how they went";
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

impl KubeletServer {
    /// `/metrics/slis`; a `DELETE` forgets what was counted.
    pub(super) fn slis(&self, method: &Method, headers: &HeaderMap) -> Response {
        if method == Method::DELETE {
            self.health_counts.reset();
            return answers::text(StatusCode::OK, "metrics reset\n");
        }
        exposed(headers, |to| {
            self.health_counts.write(to);
            write_start(to, self.parts.process_started_at);
        })
    }

    /// `/metrics/probes`.
    pub(super) fn probe_metrics(&self, headers: &HeaderMap) -> Response {
        exposed(headers, |to| {
            write_start(to, self.parts.process_started_at);
            self.parts.probes.write(to);
        })
    }
}

fn write_start(to: &mut Exposition, started_at: Option<Timestamp>) {
    if let Some(at) = started_at {
        let help = "[ALPHA] When the process was started, in seconds since 1970";
        to.gauge("process_start_time_seconds", help, at.as_millisecond() as f64 / 1e3);
    }
}

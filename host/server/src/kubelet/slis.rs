//! `/metrics/slis`: how the checks of `/healthz` went (upstream: `component-base/metrics/prometheus/slis`), and `/metrics/probes`.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hyper::Method;
use jiff::Timestamp;
use witlet_core::stats::exposition::Exposition;

use super::{KubeletServer, answers};

#[cfg(test)]
mod tests;

impl KubeletServer {
    /// `/metrics/slis`; a `DELETE` forgets what was counted.
    pub(super) async fn slis(&self, method: &Method, headers: &HeaderMap) -> Response {
        if method == Method::DELETE {
            self.health_counts.reset();
            return answers::text(StatusCode::OK, "metrics reset\n");
        }
        let (counts, started_at) = (self.health_counts.clone(), self.parts.process_started_at);
        let write = move |to: &mut Exposition| {
            counts.write(to);
            write_start(to, started_at);
        };
        self.sli_expositions.answer(headers, write).await
    }

    /// `/metrics/probes`.
    pub(super) async fn probe_metrics(&self, headers: &HeaderMap) -> Response {
        let (probes, started_at) = (self.parts.probes.clone(), self.parts.process_started_at);
        let write = move |to: &mut Exposition| {
            write_start(to, started_at);
            probes.write(to);
        };
        self.probe_expositions.answer(headers, write).await
    }
}

fn write_start(to: &mut Exposition, started_at: Option<Timestamp>) {
    if let Some(at) = started_at {
        let help = "[ALPHA] Start time of the process since unix epoch in seconds.";
        to.gauge("process_start_time_seconds", help, at.as_millisecond() as f64 / 1e3);
    }
}

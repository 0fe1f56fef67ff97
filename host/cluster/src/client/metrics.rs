//! Requests to the API server and the client certificate, as client-go and a kubelet count them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Clock, Counters, Durations, MetricsSource};

use super::identity::Identities;

#[cfg(test)]
mod tests;

/// Upper bounds in seconds for requests (upstream: `rest_client_request_duration_seconds`).
const REQUEST_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
/// The code of a try that has no answer, as client-go has it.
const NO_ANSWER: &str = "<error>";

/// What is counted of a client and the certificate that it shows.
#[derive(Debug)]
pub(crate) struct ClientMetrics {
    requests: Counters<3>,
    durations: Durations<2>,
    renew_errors: AtomicU64,
}

impl Default for ClientMetrics {
    fn default() -> Self {
        Self {
            requests: Counters::new(["code", "host", "method"]),
            durations: Durations::new(["host", "verb"], REQUEST_BUCKETS),
            renew_errors: AtomicU64::new(0),
        }
    }
}

impl ClientMetrics {
    /// One try of a request ended: with this status, or without an answer.
    pub(crate) fn tried(&self, method: &Method, host: &str, status: Option<StatusCode>, took: Duration) {
        let code = status.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
        self.requests.add([code, host, method.as_str()]);
        self.durations.observe([host, method.as_str()], took);
    }

    /// The certificate could not be renewed.
    pub(crate) fn renewal_failed(&self) {
        self.renew_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was.
    pub(crate) fn renewal_failures(&self) -> u64 {
        self.renew_errors.load(Ordering::Relaxed)
    }
}

/// What a connection shows of itself.
pub(crate) struct ConnectionMetrics {
    pub(crate) client: Arc<ClientMetrics>,
    pub(crate) identities: Arc<Identities>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl MetricsSource for ConnectionMetrics {
    fn write(&self, to: &mut Exposition) {
        let help = "[ALPHA] Client certificates that could not be renewed";
        let name = "kubelet_certificate_manager_client_expiration_renew_errors";
        to.counter(name, help, self.client.renewal_failures());
        let left =
            self.identities.current().map(|identity| self.clock.now().duration_until(identity.not_after));
        let help = "[ALPHA] Seconds until the client certificate ends; +Inf without one";
        let seconds = left.map_or(f64::INFINITY, |left| left.as_secs() as f64);
        to.gauge("kubelet_certificate_manager_client_ttl_seconds", help, seconds);
        let help =
            "[ALPHA] How long it took until requests to the API server were answered, by host and method";
        self.client.durations.write(to, "rest_client_request_duration_seconds", help);
        let help = "[ALPHA] Requests to the API server by what came of them";
        self.client.requests.write(to, "rest_client_requests_total", help);
    }
}

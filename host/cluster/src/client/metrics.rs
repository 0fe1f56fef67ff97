//! Requests to the API server and the client certificate, as client-go and a kubelet count them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Clock, Counters, Histograms, MetricsSource};

use super::identity::Identities;

#[cfg(test)]
mod tests;

/// Upper bounds in seconds for requests (upstream: `rest_client_request_duration_seconds`).
const REQUEST_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
/// The code of a try that has no answer, as client-go has it.
const NO_ANSWER: &str = "<error>";

/// Upper bounds in bytes for bodies (upstream: `rest_client_request_size_bytes`).
const SIZE_BUCKETS: &[f64] = &[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// What is counted of a client and the certificate that it shows.
#[derive(Debug)]
pub(crate) struct ClientMetrics {
    requests: Counters<3>,
    retries: Counters<3>,
    durations: Histograms<2>,
    request_sizes: Histograms<2>,
    response_sizes: Histograms<2>,
    renew_errors: AtomicU64,
}

impl Default for ClientMetrics {
    fn default() -> Self {
        let labels = ["host", "verb"];
        Self {
            requests: Counters::new(
                "rest_client_requests_total",
                "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                ["code", "host", "method"],
            ),
            retries: Counters::new(
                "rest_client_request_retries_total",
                "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
                ["code", "host", "verb"],
            ),
            durations: Histograms::new(
                "rest_client_request_duration_seconds",
                "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
                labels,
                REQUEST_BUCKETS,
            ),
            request_sizes: Histograms::new(
                "rest_client_request_size_bytes",
                "[ALPHA] Request size in bytes. Broken down by verb and host.",
                labels,
                SIZE_BUCKETS,
            ),
            response_sizes: Histograms::new(
                "rest_client_response_size_bytes",
                "[ALPHA] Response size in bytes. Broken down by verb and host.",
                labels,
                SIZE_BUCKETS,
            ),
            renew_errors: AtomicU64::new(0),
        }
    }
}

/// One try of a request, which ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) method: &'a Method,
    pub(crate) host: &'a str,
    /// None without an answer.
    pub(crate) status: Option<StatusCode>,
    pub(crate) took: Duration,
    pub(crate) request_bytes: u64,
    /// None if the answer doesn't say.
    pub(crate) response_bytes: Option<u64>,
}

impl ClientMetrics {
    /// One try of a request ended.
    pub(crate) fn tried(&self, attempt: Attempt<'_>) {
        let Attempt { method, host, status, took, request_bytes, response_bytes } = attempt;
        let code = status.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
        let labels = [host, method.as_str()];
        self.requests.add([code, host, method.as_str()]);
        self.durations.observe_duration(labels, took);
        self.request_sizes.observe(labels, request_bytes as f64);
        if let Some(bytes) = response_bytes {
            self.response_sizes.observe(labels, bytes as f64);
        }
    }

    /// A request is made again.
    pub(crate) fn retried(&self, method: &Method, host: &str, status: StatusCode) {
        self.retries.add([status.as_str(), host, method.as_str()]);
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
        let help = "[ALPHA] Counter of certificate renewal errors.";
        let name = "kubelet_certificate_manager_client_expiration_renew_errors";
        to.counter(name, help, self.client.renewal_failures());
        let left =
            self.identities.current().map(|identity| self.clock.now().duration_until(identity.not_after));
        let help = "[ALPHA] Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value \
                    is in seconds until certificate expiry (negative if already expired). If client \
                    certificate is invalid or unused, the value will be +INF.";
        let seconds = left.map_or(f64::INFINITY, |left| left.as_secs() as f64);
        to.gauge("kubelet_certificate_manager_client_ttl_seconds", help, seconds);
        let ClientMetrics { requests, retries, durations, request_sizes, response_sizes, .. } = &*self.client;
        let families: [&dyn MetricsSource; 5] = [durations, request_sizes, response_sizes, retries, requests];
        families.into_iter().for_each(|family| family.write(to));
    }
}

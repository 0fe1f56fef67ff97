//! Requests to the API server and the client certificate, as client-go and a kubelet count them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Clock, Counters, Histograms, MetricsSource};

use super::exec::PluginError;
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
    waits: Histograms<2>,
    request_sizes: Histograms<2>,
    response_sizes: Histograms<2>,
    plugin_calls: Counters<2>,
    plugin_until: Mutex<Option<Timestamp>>,
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
            waits: Histograms::new(
                "rest_client_rate_limiter_duration_seconds",
                "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.",
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
            plugin_calls: Counters::new(
                "rest_client_exec_plugin_call_total",
                "[ALPHA] Number of calls to an exec plugin, partitioned by the type of event encountered \
                 (no_error, plugin_execution_error, plugin_not_found_error, client_internal_error) and an \
                 optional exit code. The exit code will be set to 0 if and only if the plugin call was \
                 successful.",
                ["code", "call_status"],
            ),
            plugin_until: Mutex::default(),
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

    /// A try waited so long until the rate of requests allowed it.
    pub(crate) fn waited(&self, method: &Method, host: &str, took: Duration) {
        self.waits.observe_duration([host, method.as_str()], took);
    }

    /// A credential plugin ended.
    pub(crate) fn plugin_ended(&self, error: Option<&PluginError>) {
        let (code, status) = match error {
            // What it printed is read afterwards.
            None | Some(PluginError::Answer { .. }) => (0, "no_error"),
            Some(PluginError::Failed { code, .. }) => (*code, "plugin_execution_error"),
            Some(PluginError::Start { .. }) => (1, "plugin_not_found_error"),
            Some(PluginError::Slow { .. } | PluginError::Large { .. }) => (1, "client_internal_error"),
        };
        self.plugin_calls.add([&code.to_string(), status]);
    }

    /// A credential plugin made this certificate.
    pub(crate) fn plugin_certificate(&self, not_after: Timestamp) {
        *self.plugin_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(not_after);
    }

    /// Until when the one that a plugin made last is valid; none without one.
    fn plugin_until(&self) -> Option<Timestamp> {
        *self.plugin_until.lock().unwrap_or_else(PoisonError::into_inner)
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
        let now = self.clock.now();
        let seconds = |until: Option<Timestamp>| {
            until.map_or(f64::INFINITY, |until| now.duration_until(until).as_secs() as f64)
        };
        let help = "[ALPHA] Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value \
                    is in seconds until certificate expiry (negative if already expired). If client \
                    certificate is invalid or unused, the value will be +INF.";
        let until = self.identities.current().map(|identity| identity.not_after);
        to.gauge("kubelet_certificate_manager_client_ttl_seconds", help, seconds(until));
        let help = "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by \
                    the auth exec plugin. The value is in seconds until certificate expiry (negative if \
                    already expired). If auth exec plugins are unused or manage no TLS certificates, the value \
                    will be +INF.";
        to.gauge("rest_client_exec_plugin_ttl_seconds", help, seconds(self.client.plugin_until()));
        let ClientMetrics { requests, retries, durations, waits, request_sizes, response_sizes, .. } =
            &*self.client;
        let families: [&dyn MetricsSource; 7] =
            [durations, waits, request_sizes, response_sizes, retries, requests, &self.client.plugin_calls];
        families.into_iter().for_each(|family| family.write(to));
    }
}

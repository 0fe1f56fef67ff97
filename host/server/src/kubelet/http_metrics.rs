//! Requests to the node's endpoints, counted as a kubelet counts them (upstream: `server/metrics/metrics.go`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Method;
use tokio::time::Instant;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{Counters, DEFAULT_BUCKETS, Histograms, MetricsSource};

use super::access::ServerPort;

#[cfg(test)]
mod tests;

/// The names of labels.
const LABELS: [&str; 4] = ["long_running", "method", "path", "server_type"];
/// Their values of a request, each of a bounded number.
type Labels = [&'static str; 4];

/// Counts requests.
#[derive(Debug)]
pub(super) struct HttpMetrics {
    requests: Counters<4>,
    durations: Histograms<4>,
    inflight: Mutex<BTreeMap<Labels, u64>>,
    websockets: Counters<1>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self {
            requests: Counters::new(
                "kubelet_http_requests_total",
                "[ALPHA] Number of the http requests received since the server started",
                LABELS,
            ),
            durations: Histograms::new(
                "kubelet_http_requests_duration_seconds",
                "[ALPHA] Duration in seconds to serve http requests",
                LABELS,
                DEFAULT_BUCKETS,
            ),
            inflight: Mutex::default(),
            websockets: Counters::new(
                "kubelet_websocket_streaming_requests_total",
                "[ALPHA] Total number of WebSocket streaming requests (exec/attach/portforward) \
                 received by the kubelet.",
                ["subresource"],
            ),
        }
    }
}

/// A request that is being answered; none at a port that a kubelet doesn't count.
pub(super) struct Answering(Option<(Arc<HttpMetrics>, Labels, Instant)>);

impl HttpMetrics {
    /// Counts a request until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, method: &Method, path: &str, port: &ServerPort) -> Answering {
        let Some(labels) = labels(method, path, port) else { return Answering(None) };
        self.requests.add(labels);
        self.change(labels, |count| count.saturating_add(1));
        Answering(Some((self.clone(), labels, Instant::now())))
    }

    /// A stream over a WebSocket is asked for: `exec`, `attach` or `portforward`.
    pub(super) fn websocket(&self, subresource: &'static str) {
        self.websockets.add([subresource]);
    }

    fn change(&self, labels: Labels, to: impl FnOnce(u64) -> u64) {
        let mut inflight = self.inflight.lock().unwrap_or_else(PoisonError::into_inner);
        let count = inflight.entry(labels).or_default();
        *count = to(*count);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some((metrics, labels, begun)) = self.0.take() {
            metrics.durations.observe_duration(labels, begun.elapsed());
            metrics.change(labels, |count| count.saturating_sub(1));
        }
    }
}

impl MetricsSource for HttpMetrics {
    fn write(&self, to: &mut Exposition) {
        let help = "[ALPHA] Number of the inflight http requests";
        let mut family = to.family("kubelet_http_inflight_requests", help, Kind::Gauge);
        for (values, count) in self.inflight.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let [long_running, method, path, server_type] = LABELS;
            let [is_long, of_method, of_path, of_type] = *values;
            let labels =
                [(long_running, is_long), (method, of_method), (path, of_path), (server_type, of_type)];
            family.sample(&labels, *count as f64);
        }
        self.durations.write(to);
        self.requests.write(to);
        self.websockets.write(to);
    }
}

fn labels(method: &Method, path: &str, port: &ServerPort) -> Option<Labels> {
    let server_type = match port {
        ServerPort::Guarded(_) => "readwrite",
        ServerPort::ReadOnly => "readonly",
        ServerPort::Healthz => return None,
    };
    let path = match (path_label(path), port) {
        // What that port never serves has no label of its own there.
        ("checkpoint" | "configz" | "debug" | "flagz" | "statusz", ServerPort::ReadOnly) => "other",
        (path, _) => path,
    };
    let is_long = matches!(path, "exec" | "attach" | "debug");
    Some([if is_long { "true" } else { "false" }, method_label(method), path, server_type])
}

fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        "CONNECT" => "CONNECT",
        "TRACE" => "TRACE",
        _ => "other",
    }
}

/// The first segment of a path that is known, or the whole of it below `/metrics`.
fn path_label(path: &str) -> &'static str {
    let mut parts = path.trim_start_matches('/').split('/');
    match (parts.next().unwrap_or_default(), parts.next()) {
        ("metrics", None | Some("")) => "metrics",
        ("metrics", Some("cadvisor")) => "metrics/cadvisor",
        ("metrics", Some("probes")) => "metrics/probes",
        ("metrics", Some("resource")) => "metrics/resource",
        ("attach", _) => "attach",
        ("checkpoint", _) => "checkpoint",
        ("configz", _) => "configz",
        ("containerLogs", _) => "containerLogs",
        ("debug", _) => "debug",
        ("exec", _) => "exec",
        ("flagz", _) => "flagz",
        ("healthz", _) => "healthz",
        ("logs", _) => "logs",
        ("pods", _) => "pods",
        ("portForward", _) => "portForward",
        ("run", _) => "run",
        ("runningpods", _) => "runningpods",
        ("stats", _) => "stats",
        ("statusz", _) => "statusz",
        _ => "other",
    }
}

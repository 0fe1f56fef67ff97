//! Requests that are counted.

use witlet_core::stats::exposition::written;

use super::super::access::Certificate;
use super::*;

fn text(metrics: &HttpMetrics) -> String {
    written(|to| metrics.write(to)).expect("it is small")
}

#[test]
fn requests_have_the_labels_of_a_kubelets() {
    let guarded = || ServerPort::Guarded(Certificate::None);
    let cases = [
        (Method::GET, "/pods", guarded(), Some(["false", "GET", "pods", "readwrite"])),
        (Method::GET, "/pods/", ServerPort::ReadOnly, Some(["false", "GET", "pods", "readonly"])),
        (Method::POST, "/exec/a/b/c", guarded(), Some(["true", "POST", "exec", "readwrite"])),
        (Method::POST, "/portForward/a/b", guarded(), Some(["false", "POST", "portForward", "readwrite"])),
        (Method::PATCH, "/metrics", guarded(), Some(["false", "other", "metrics", "readwrite"])),
        (Method::GET, "/metrics/probes", guarded(), Some(["false", "GET", "metrics/probes", "readwrite"])),
        (Method::GET, "/metrics/slis", guarded(), Some(["false", "GET", "other", "readwrite"])),
        (Method::GET, "/healthz/ping", guarded(), Some(["false", "GET", "healthz", "readwrite"])),
        (Method::GET, "/any/path", guarded(), Some(["false", "GET", "other", "readwrite"])),
        (Method::GET, "/configz", guarded(), Some(["false", "GET", "configz", "readwrite"])),
        (Method::GET, "/configz", ServerPort::ReadOnly, Some(["false", "GET", "other", "readonly"])),
        (Method::GET, "/debug/flags/v", ServerPort::ReadOnly, Some(["false", "GET", "other", "readonly"])),
        (Method::GET, "/logs/", ServerPort::ReadOnly, Some(["false", "GET", "logs", "readonly"])),
        (Method::GET, "/healthz", ServerPort::Healthz, None),
    ];
    for (method, path, port, expected) in cases {
        assert_eq!(labels(&method, path, &port), expected, "{method} {path}");
    }
}

#[test]
fn a_request_is_in_flight_until_it_is_answered() {
    let metrics = Arc::new(HttpMetrics::default());
    let answering = metrics.begin(&Method::GET, "/pods", &ServerPort::ReadOnly);
    let labels = "{long_running=\"false\",method=\"GET\",path=\"pods\",server_type=\"readonly\"}";
    let shown = text(&metrics);
    assert!(shown.contains(&format!("\nkubelet_http_inflight_requests{labels} 1\n")), "{shown}");
    assert!(shown.contains(&format!("\nkubelet_http_requests_total{labels} 1\n")), "{shown}");
    assert!(!shown.contains("duration"), "{shown}");
    drop(answering);
    let shown = text(&metrics);
    assert!(shown.contains(&format!("\nkubelet_http_inflight_requests{labels} 0\n")), "{shown}");
    assert!(
        shown.contains(&format!("\nkubelet_http_requests_duration_seconds_count{labels} 1\n")),
        "{shown}"
    );
    drop(metrics.begin(&Method::GET, "/healthz", &ServerPort::Healthz));
    assert!(!text(&metrics).contains("healthz"));
}

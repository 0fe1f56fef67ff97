//! What is counted of a client.

use witlet_core::stats::exposition::written;
use witlet_testkit::ManualClock;

use super::*;

fn text(metrics: &ConnectionMetrics) -> String {
    written(|to| metrics.write(to)).expect("it is small")
}

#[test]
fn tries_are_counted_by_what_came_of_them() {
    let client = Arc::<ClientMetrics>::default();
    let identities = Arc::new(Identities::new(None));
    let metrics =
        ConnectionMetrics { client: client.clone(), identities, clock: Arc::new(ManualClock::new()) };
    let idle = text(&metrics);
    assert!(idle.contains("\nkubelet_certificate_manager_client_ttl_seconds +Inf\n"), "{idle}");
    assert!(idle.contains("\nkubelet_certificate_manager_client_expiration_renew_errors 0\n"), "{idle}");
    let host = "10.0.0.1:6443";
    let attempt = Attempt {
        method: &Method::GET,
        host,
        status: Some(StatusCode::OK),
        took: Duration::from_millis(30),
        request_bytes: 0,
        response_bytes: Some(5000),
    };
    client.tried(attempt);
    client.tried(Attempt { status: None, took: Duration::from_secs(60), response_bytes: None, ..attempt });
    let refused = Attempt { method: &Method::PATCH, status: Some(StatusCode::CONFLICT), ..attempt };
    client.tried(Attempt { took: Duration::from_millis(3), request_bytes: 300, ..refused });
    client.retried(&Method::GET, host, StatusCode::TOO_MANY_REQUESTS);
    client.renewal_failed();
    let shown = text(&metrics);
    for line in [
        "kubelet_certificate_manager_client_expiration_renew_errors 1",
        "rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method=\"GET\"} 1",
        "rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method=\"GET\"} 1",
        "rest_client_requests_total{code=\"409\",host=\"10.0.0.1:6443\",method=\"PATCH\"} 1",
        "rest_client_request_duration_seconds_bucket{host=\"10.0.0.1:6443\",verb=\"GET\",le=\"0.1\"} 1",
        "rest_client_request_duration_seconds_count{host=\"10.0.0.1:6443\",verb=\"GET\"} 2",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} isn't in:\n{shown}");
    }
}

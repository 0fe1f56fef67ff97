//! What is counted of a client.

use witlet_core::stats::exposition::Format;
use witlet_testkit::ManualClock;

use super::*;

fn text(metrics: &ConnectionMetrics) -> String {
    let mut exposition = Exposition::new(Format::Text);
    metrics.write(&mut exposition);
    exposition.finish().expect("it is small")
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
    client.tried(&Method::GET, host, Some(StatusCode::OK), Duration::from_millis(30));
    client.tried(&Method::GET, host, None, Duration::from_secs(60));
    client.tried(&Method::PATCH, host, Some(StatusCode::CONFLICT), Duration::from_millis(3));
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

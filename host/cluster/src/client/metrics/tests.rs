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
    client.waited(&Method::GET, host, Duration::from_millis(30));
    let shown = text(&metrics);
    for line in [
        "kubelet_certificate_manager_client_expiration_renew_errors 1",
        "rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method=\"GET\"} 1",
        "rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method=\"GET\"} 1",
        "rest_client_requests_total{code=\"409\",host=\"10.0.0.1:6443\",method=\"PATCH\"} 1",
        "rest_client_request_duration_seconds_bucket{host=\"10.0.0.1:6443\",verb=\"GET\",le=\"0.1\"} 1",
        "rest_client_request_duration_seconds_count{host=\"10.0.0.1:6443\",verb=\"GET\"} 2",
        "rest_client_rate_limiter_duration_seconds_bucket{host=\"10.0.0.1:6443\",verb=\"GET\",le=\"0.1\"} 1",
        "rest_client_response_size_bytes_bucket{host=\"10.0.0.1:6443\",verb=\"GET\",le=\"1.048576e+06\"} 1",
        "rest_client_exec_plugin_ttl_seconds +Inf",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} isn't in:\n{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn credential_plugins_are_counted_by_how_they_ended() {
    let client = Arc::<ClientMetrics>::default();
    let clock = Arc::new(ManualClock::new());
    let identities = Arc::new(Identities::new(None));
    let metrics = ConnectionMetrics { client: client.clone(), identities, clock: clock.clone() };
    let command = || "plugin".to_owned();
    let failed =
        |code| PluginError::Failed { command: command(), status: String::new(), code, stderr: String::new() };
    let message = String::new();
    for error in [
        None,
        Some(PluginError::Answer { command: command(), message: message.clone() }),
        Some(failed(3)),
        Some(failed(-1)),
        Some(PluginError::Start { command: command(), message }),
        Some(PluginError::Slow { command: command() }),
        Some(PluginError::Large { command: command() }),
    ] {
        client.plugin_ended(error.as_ref());
    }
    client.plugin_certificate(clock.now() + jiff::SignedDuration::from_secs(90));
    let shown = text(&metrics);
    let call = |code: i32, status: &str, count: u32| {
        format!("rest_client_exec_plugin_call_total{{code=\"{code}\",call_status=\"{status}\"}} {count}")
    };
    for line in [
        call(0, "no_error", 2),
        call(3, "plugin_execution_error", 1),
        call(-1, "plugin_execution_error", 1),
        call(1, "plugin_not_found_error", 1),
        call(1, "client_internal_error", 2),
        "rest_client_exec_plugin_ttl_seconds 90".to_owned(),
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} isn't in:\n{shown}");
    }
}

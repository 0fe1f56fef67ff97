//! Tracing.

use witlet_core::trace::endpoint::CollectorEndpoint;

use super::*;
use crate::settings::TracingSettings;

#[test]
fn tracing_is_off_until_a_field_of_it_is_set() {
    let on = |endpoint: &str, rate| {
        Some(TracingSettings {
            endpoint: Ok(endpoint.parse().expect("an endpoint")),
            sampling_rate_per_million: rate,
        })
    };
    for (fields, expected) in [
        ("", None),
        ("tracing: null", None),
        ("tracing: {}", None),
        ("tracing: {samplingRatePerMillion: 0}", on("localhost:4317", 0)),
        ("tracing: {endpoint: '', samplingRatePerMillion: 10000}", on("localhost:4317", 10_000)),
        ("tracing: {endpoint: 'collector:4318'}", on("collector:4318", 0)),
        ("tracing: {endpoint: 'unix:///run/otel.sock', samplingRatePerMillion: 1000000}", {
            on("unix:/run/otel.sock", 1_000_000)
        }),
    ] {
        assert_eq!(good(fields, "").tracing, expected, "{fields}");
    }
    assert_eq!(on("localhost:4317", 0).map(|on| on.endpoint), Some(Ok(CollectorEndpoint::default())));
}

#[test]
fn an_endpoint_that_upstream_takes_does_not_keep_the_node_from_starting() {
    let settings = good("tracing: {endpoint: 'unix://path/to/socket'}", "").tracing.expect("it is on");
    let error = settings.endpoint.expect_err("no socket");
    assert!(error.to_string().starts_with("tracing endpoint \"unix://path/to/socket\" must be"), "{error}");
}

#[test]
fn what_upstream_refuses_of_tracing_is_refused_in_its_words() {
    for (fields, expected) in [
        (
            "{samplingRatePerMillion: -1}",
            "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
        ),
        (
            "{endpoint: 'dn%2s://localhost:4317'}",
            "tracing.endpoint: Invalid value: \"dn%2s://localhost:4317\": parse \"dn%2s://localhost:4317\": first path segment \
             in URL cannot contain colon",
        ),
        (
            "{endpoint: 'http://localhost:4317', samplingRatePerMillion: 1000001}",
            "[tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one \
             million, tracing.endpoint: Invalid value: \"http://localhost:4317\": unsupported scheme: http.  Options are none, dns, \
             unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md]",
        ),
    ] {
        let error = read(&format!("tracing: {fields}"), "").expect_err("refused");
        assert_eq!(error.to_string(), expected, "{fields}");
    }
}

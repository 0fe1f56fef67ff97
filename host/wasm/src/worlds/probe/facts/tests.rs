//! What is read from a probe's parameters.

use std::time::Duration;

use super::{host, remaining_milliseconds};

#[test]
fn a_guest_begins_with_the_whole_time_and_is_never_reported_too_little() {
    let cases = [
        // Timeout and what is left in microseconds, milliseconds reported.
        (3_000_000, 3_000_000, 3000),
        (3_000_000, 2_999_700, 3000),
        (3_000_000, 2_925_000, 3000),
        (3_000_000, 2_924_000, 2924),
        (3_000_000, 2_000_001, 2001),
        (3_000_000, 1, 1),
        (3_000_000, 0, 0),
        (200_000, 130_000, 200),
    ];
    for (timeout, remaining, expected) in cases {
        let [timeout, remaining] = [timeout, remaining].map(Duration::from_micros);
        assert_eq!(remaining_milliseconds(timeout, remaining), expected, "{remaining:?}");
    }
}

#[test]
fn the_host_of_a_probe_is_the_one_that_its_parameters_name() {
    let cases = [
        ("null", None),
        ("", None),
        ("{}", None),
        (r#"{"port": 80}"#, None),
        (r#"{"host": ""}"#, None),
        (r#"{"host": "example.com", "port": 80}"#, Some("example.com")),
        (r#"{"host": "192.0.2.7"}"#, Some("192.0.2.7")),
        (r#"{"host": 7}"#, None),
        (r#"{"nested": {"host": "example.com"}}"#, None),
        (r#"{"path": "\"host\""}"#, None),
        (r#"["host"]"#, None),
        (r#"{"host": "example.com""#, None),
    ];
    for (parameters, expected) in cases {
        assert_eq!(host(parameters).as_deref(), expected, "{parameters}");
    }
}

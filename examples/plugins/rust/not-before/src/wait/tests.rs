//! Tests of the wait.

use super::wait;

#[test]
fn times_and_numbers_are_read_or_refused_with_their_place() {
    let cases = [
        ("10", Some("2026-01-01T00:00:00Z"), "10s until 2026-01-01T00:00:10Z"),
        ("10", Some("2026-01-01T01:00:00.5+01:00"), "10.5s until 2026-01-01T00:00:10.5Z"),
        ("0", Some("2026-01-01T00:00:00Z"), "over"),
        ("10", Some("2025-12-31T23:59:50Z"), "over"),
        ("10", None, "kubernetes.io/config.seen: missing: the node hasn't said when it saw the pod"),
        ("10", Some("yesterday"), "kubernetes.io/config.seen: \"yesterday\" is no time in RFC 3339"),
        (
            "-1",
            Some("2026-01-01T00:00:00Z"),
            "example.witlet.dev/not-before-seconds: \"-1\" is no number of seconds",
        ),
        ("soon", None, "example.witlet.dev/not-before-seconds: \"soon\" is no number of seconds"),
        (
            "10",
            Some("9999-12-30T21:59:59Z"),
            "example.witlet.dev/not-before-seconds: the end of the wait is out of range",
        ),
    ];
    let now = "2026-01-01T00:00:00Z".parse().expect("a time");
    for (seconds, seen, expected) in cases {
        let found = match wait(seconds, seen, now) {
            Ok(super::Wait::Over) => "over".to_owned(),
            Ok(super::Wait::Until { moment, left }) => format!("{left:?} until {moment}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{seconds} after {seen:?}");
    }
}

//! What is read from a probe's parameters.

use super::host;

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

//! Cases for what the workloads share.

use super::{number, request_line};

#[test]
fn a_request_line_has_a_method_a_path_and_a_version() {
    for (line, expected) in [
        ("GET / HTTP/1.1\r\n", Some(("GET", "/"))),
        ("POST /a/b?c=d HTTP/1.0", Some(("POST", "/a/b?c=d"))),
        ("GET /", None),
        ("GET  HTTP/1.1", None),
        ("GET relative HTTP/1.1", None),
        ("GET / HTTP/2", None),
        ("GET / HTTP/1.1 more", None),
        ("", None),
    ] {
        assert_eq!(request_line(line), expected, "{line:?}");
    }
}

#[test]
fn a_number_that_no_one_gave_is_the_default() {
    assert_eq!(number(10_000, "WITLET_TEST_NEVER_SET", 7_u8), Ok(7));
}

//! Which requests are watches, and which are made again.

use std::time::Duration;

use http::{HeaderMap, StatusCode, Uri, header};

use super::{Kind, RETRIES_MAX, kind_of, retry_after};

#[test]
fn watches_are_reported_by_their_query() {
    let cases = [
        ("/api/v1/pods", Kind::Ordinary, None),
        ("/api/v1/pods?watch=true", Kind::Watch, None),
        ("/api/v1/pods?limit=5&watch=1&timeoutSeconds=290", Kind::Watch, Some(290)),
        ("/api/v1/pods?watch=false&timeoutSeconds=x", Kind::Ordinary, None),
        ("/api/v1/namespaces/watch=true/pods", Kind::Ordinary, None),
    ];
    for (path, kind, seconds) in cases {
        let uri: Uri = path.parse().expect("a path");
        assert_eq!(kind_of(&uri), (kind, seconds.map(Duration::from_secs)), "{path}");
    }
}

#[test]
fn only_a_server_that_says_when_is_asked_again_and_not_for_ever() {
    let cases = [
        (429, Some("3"), 0, Some(3)),
        (500, Some("1"), 9, Some(1)),
        (503, Some("86400"), 0, Some(60)),
        (429, Some("3"), RETRIES_MAX, None),
        (429, None, 0, None),
        (429, Some("-1"), 0, None),
        (429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), 0, None),
        (404, Some("1"), 0, None),
        (200, Some("1"), 0, None),
    ];
    for (status, value, before, expected) in cases {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert(header::RETRY_AFTER, value.parse().expect("a header"));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        let wait = retry_after(status, &headers, before);
        assert_eq!(wait, expected.map(Duration::from_secs), "{status} {value:?} {before}");
    }
}

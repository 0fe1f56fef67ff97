//! Requests as they are sent.

use super::*;

fn request(uri: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::get(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap_or_else(|error| panic!("{uri}: {error}"))
}

#[test]
fn a_request_goes_to_its_authority() {
    let cases = [
        ("http://a.example", false, "a.example", 80, "/", "a.example"),
        ("https://a.example/", true, "a.example", 443, "/", "a.example"),
        ("http://A.example:8080/x?y=z", false, "A.example", 8080, "/x?y=z", "A.example:8080"),
        ("http://a.example:80/", false, "a.example", 80, "/", "a.example:80"),
        ("http://a.example:/", false, "a.example", 80, "/", "a.example"),
        ("http://a.example?y", false, "a.example", 80, "/?y", "a.example"),
        ("http://10.0.0.7:1/", false, "10.0.0.7", 1, "/", "10.0.0.7:1"),
        ("https://[fd00::7]/", true, "fd00::7", 443, "/", "[fd00::7]"),
        ("https://[fd00::7]:8443/", true, "fd00::7", 8443, "/", "[fd00::7]:8443"),
        ("http://user:word@a.example:81/", false, "a.example", 81, "/", "a.example:81"),
        ("http://b.example:1@a.example/", false, "a.example", 80, "/", "a.example"),
        ("http://a.example//x/../y", false, "a.example", 80, "//x/../y", "a.example"),
    ];
    for (uri, tls, host, port, path, host_header) in cases {
        let (to, sent) = prepare(request(uri, &[])).unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!(to, Destination { tls, host: host.to_owned(), port }, "{uri}");
        assert_eq!(sent.uri().to_string(), path, "{uri}");
        assert_eq!(sent.headers()[HOST], host_header, "{uri}");
    }
}

#[test]
fn a_host_header_changes_nothing_but_itself() {
    let (to, sent) =
        prepare(request("http://a.example:1/", &[("host", "evil.example")])).expect("it is good");
    assert_eq!((to.host.as_str(), to.port), ("a.example", 1));
    assert_eq!(sent.headers()[HOST], "evil.example");
}

#[test]
fn what_is_the_connections_isnt_the_requests() {
    let given = [
        ("x-a", "1"),
        ("connection", "keep-alive, x-a"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("http2-settings", "x"),
        ("x-a", "2"),
        ("authorization", "Basic x"),
    ];
    let (_, sent) = prepare(request("http://a.example/", &given)).expect("it is good");
    let sent: Vec<(&str, &[u8])> =
        sent.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let expected: [(&str, &[u8]); 5] = [
        ("host", b"a.example"),
        ("x-a", b"1"),
        ("x-a", b"2"),
        ("authorization", b"Basic x"),
        ("connection", b"close"),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn a_request_that_leads_nowhere_is_refused() {
    let scheme = |scheme: &str| RequestError::Scheme { scheme: scheme.to_owned() };
    let authority = |authority: &str| RequestError::Authority { authority: authority.to_owned() };
    let cases = [
        ("/path", scheme("")),
        ("ftp://a.example/", scheme("ftp")),
        ("http://a.example:0/", authority("a.example:0")),
        ("http://a.example:65536/", authority("a.example:65536")),
        ("http://a.example:99999999999/", authority("a.example:99999999999")),
    ];
    for (uri, expected) in cases {
        assert_eq!(prepare(request(uri, &[])).map(|(to, _)| to), Err(expected), "{uri}");
    }
    let several = request("http://a.example/", &[("host", "a"), ("host", "b")]);
    assert_eq!(prepare(several).map(|(to, _)| to), Err(RequestError::SeveralHosts));
    let tunnel = Request::builder().method(Method::CONNECT).uri("a.example:443").body(()).expect("it is one");
    assert_eq!(prepare(tunnel).map(|(to, _)| to), Err(RequestError::Connect));
}

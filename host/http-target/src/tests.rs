//! What requests come to.

use super::{Scheme, TargetError, USER_AGENT, headers, host, host_port, port_number, request_path, scheme};

#[test]
fn ports_are_the_numbers_from_1_to_65535() {
    for port in [1, 80, 65_535] {
        assert_eq!(port_number(port).map(i64::from), Ok(port));
    }
    for port in [0, -1, 65_536, 118_888_888_888] {
        assert_eq!(port_number(port), Err(TargetError::InvalidPort { port }));
    }
}

#[test]
fn paths_are_sent_as_go_would_send_them() {
    let cases = [
        ("", "/"),
        ("/", "/"),
        ("/healthz", "/healthz"),
        ("healthz", "/healthz"),
        ("/a?b=c&d", "/a?b=c&d"),
        ("?x", "/?x"),
        ("/a#fragment", "/a"),
        ("/a b", "/a%20b"),
        ("/a%20b", "/a%20b"),
        ("/%zz?x", "/%25zz%3Fx"),
        ("/ü", "/%C3%BC"),
        ("/a?q=ü z", "/a?q=%C3%BC%20z"),
        ("http://other:1/path?q", "/path?q"),
        ("http://other", "/"),
        ("//other/path", "/path"),
        ("/a//b/../c", "/a//b/../c"),
        ("/a\r\nHost: evil", "/a%0D%0AHost:%20evil"),
    ];
    for (path, expected) in cases {
        assert_eq!(request_path(path), expected, "{path:?}");
    }
}

#[test]
fn headers_have_defaults_that_the_spec_overrides() {
    let all = ["User-Agent: kube-probe/1.36", "Accept: */*"];
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: [Case<'_>; 9] = [
        (&[], &all),
        (&[("X-A", "1"), ("X-A", "2")], &["X-A: 1", "X-A: 2", all[0], all[1]]),
        (&[("user-agent", "me")], &["user-agent: me", all[1]]),
        (&[("User-Agent", "")], &[all[1]]),
        (&[("Accept", "")], &[all[0]]),
        (&[("accept", "text/html")], &["accept: text/html", all[0]]),
        (&[("host", "example.org")], &["Host: example.org", all[0], all[1]]),
        (&[("Host", "a"), ("Host", "b")], &["Host: a", all[0], all[1]]),
        (&[("Host", "")], &all),
    ];
    for (given, expected) in cases {
        let sent = headers(given, USER_AGENT);
        let sent: Vec<String> = sent.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(sent, expected, "{given:?}");
    }
}

#[test]
fn schemes_are_http_and_https_in_any_case() {
    let unknown = TargetError::UnknownScheme { scheme: "ftp".to_owned() };
    let cases = [
        (None, Ok(Scheme::Http)),
        (Some(""), Ok(Scheme::Http)),
        (Some("HTTP"), Ok(Scheme::Http)),
        (Some("HTTPS"), Ok(Scheme::Https)),
        (Some("https"), Ok(Scheme::Https)),
        (Some("ftp"), Err(unknown)),
    ];
    for (given, expected) in cases {
        assert_eq!(scheme(given), expected, "{given:?}");
    }
}

#[test]
fn a_host_that_isnt_named_is_the_pods_address() {
    let cases = [
        (None, Some("10.0.0.7"), Ok("10.0.0.7")),
        (Some(""), Some("fd00::7"), Ok("fd00::7")),
        (Some("example.org"), Some("10.0.0.7"), Ok("example.org")),
        (Some("example.org"), None, Ok("example.org")),
        (None, None, Err(TargetError::NoAddress)),
        (None, Some(""), Err(TargetError::NoAddress)),
    ];
    for (named, pod_ip, expected) in cases {
        assert_eq!(host(named, pod_ip), expected, "{named:?} {pod_ip:?}");
    }
}

#[test]
fn addresses_with_colons_are_bracketed() {
    assert_eq!(host_port("fd00::7", 80), "[fd00::7]:80");
    assert_eq!(host_port("10.0.0.7", 80), "10.0.0.7:80");
}

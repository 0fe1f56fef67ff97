//! URLs, headers and redirects.

use super::*;

fn url(url: &str, headers: &[&str]) -> ManifestUrl {
    ManifestUrl::new(url, headers).expect("the test's URL is one")
}

/// All headers as `name: value`.
fn sent(url: &ManifestUrl, to: &str) -> Vec<String> {
    let headers = url.headers_for(&to.parse().expect("a URL"));
    let mut lines: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("text"))).collect();
    lines.sort();
    lines
}

#[test]
fn headers_come_as_upstreams_flag_has_them() {
    let all = url("http://h/", &["a:hello,b:again, c : world ", "b:beautiful", "User-Agent:me"]);
    assert_eq!(
        sent(&all, "http://h/"),
        ["a: hello", "b: again", "b: beautiful", "c: world", "user-agent: me"]
    );
    assert!(format!("{all:?}").contains("http://h/") && !format!("{all:?}").contains("hello"));
}

#[test]
fn what_is_no_url_or_header_is_refused_without_showing_secrets() {
    for bad in ["", "h/pods", "ftp://h/", "http://", "file:///etc", "http://h h/"] {
        assert!(matches!(ManifestUrl::new::<&str>(bad, &[]), Err(ManifestUrlError::Url { .. })), "{bad}");
    }
    let words =
        |url: &str, headers: &[&str]| ManifestUrl::new(url, headers).map(drop).map_err(|e| e.to_string());
    assert_eq!(words("ftp://me:secret@h/", &[]), Err("\"ftp://h/\" must be an http or https URL".to_owned()));
    assert_eq!(words("http://h", &["a:b", "token"]), Err("header 2 must be KEY:VALUE".to_owned()));
    assert_eq!(words("http://h", &["a b:c"]), Err("\"a b\" is not a valid header name".to_owned()));
    assert_eq!(
        words("http://h", &["a:secret\u{7}"]),
        Err("header a has an invalid character in its value".to_owned())
    );
}

#[test]
fn a_user_in_the_url_becomes_basic_authentication_and_is_never_shown() {
    let all = url("https://me:p%40ss@h:8443/pods?x=1#part", &[]);
    assert_eq!(all.place(), "https://h:8443/pods?x=1#part");
    assert_eq!(all.uri().to_string(), "https://h:8443/pods?x=1");
    let basic = format!("authorization: Basic {}", STANDARD.encode("me:p@ss"));
    assert_eq!(sent(&all, "https://h:8443/")[0], basic);
    let own = url("https://me:x@h/", &["Authorization:Bearer t"]);
    assert_eq!(sent(&own, "https://h/")[0], "authorization: Bearer t", "the operator's header wins");
}

#[test]
fn headers_go_to_the_urls_host_and_those_below_it_only() {
    let all = url("https://example.com/", &["token:t"]);
    for (to, expected) in [
        ("https://example.com/x", true),
        ("https://EXAMPLE.com:8443/", true),
        ("https://a.example.com/", true),
        ("https://badexample.com/", false),
        ("https://example.org/", false),
        ("https://com/", false),
    ] {
        assert_eq!(sent(&all, to).iter().any(|line| line == "token: t"), expected, "{to}");
    }
}

#[test]
fn redirects_lead_where_a_browser_would_go() {
    for (from, location, to) in [
        ("http://h/a/b", "http://o/x", Ok("http://o/x")),
        ("http://h/a/b", "/x?y=1", Ok("http://h/x?y=1")),
        ("http://h/a/b", "x", Ok("http://h/a/x")),
        ("http://h/a/b", "../x/./y", Ok("http://h/x/y")),
        ("http://h/a/b", "../../../x", Ok("http://h/x")),
        ("http://h/a/b", "?q", Ok("http://h/a/b?q")),
        ("http://h:81/a", "//o/x", Ok("http://o/x")),
        ("http://h", "x", Ok("http://h/x")),
        ("http://h/", "https://o", Ok("https://o/")),
        ("http://h/", "http://me:x@o/y#z", Ok("http://o/y")),
        ("https://h/", "http://h/", Err("redirect from https to \"http://h/\", expected https")),
        (
            "http://h/",
            "file:///etc/passwd",
            Err("redirect to \"file:///etc/passwd\", expected an http or https URL"),
        ),
        ("http://h/", "", Err("redirect without Location")),
    ] {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_str(location).expect("a value"))]);
        let found = redirected(&from.parse().expect("a URL"), &headers);
        let found = found.map(|uri| uri.to_string()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), to, "{from} {location}");
    }
    assert_eq!(
        redirected(&"http://h".parse().expect("a URL"), &HeaderMap::new()),
        Err(RedirectError::Nowhere)
    );
}

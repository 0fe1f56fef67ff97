//! Upstream's `server/auth_test.go`, restated.

use super::*;

/// Path → subresources, for every method.
const PATHS: [(&str, &[&str]); 33] = [
    ("/attach/ns/pod/app", &["proxy"]),
    ("/attach/ns/pod/uid/app", &["proxy"]),
    ("/checkpoint/ns/pod/app", &["checkpoint"]),
    ("/configz", &["configz", "proxy"]),
    ("/flagz", &["configz"]),
    ("/statusz", &["statusz"]),
    ("/containerLogs/ns/pod/app", &["proxy"]),
    ("/debug/flags/v", &["proxy"]),
    ("/debug/pprof/heap", &["proxy"]),
    ("/exec/ns/pod/app", &["proxy"]),
    ("/exec/ns/pod/uid/app", &["proxy"]),
    ("/healthz", &["healthz", "proxy"]),
    ("/healthz/log", &["healthz", "proxy"]),
    ("/healthz/ping", &["healthz", "proxy"]),
    ("/healthz/syncloop", &["healthz", "proxy"]),
    ("/logs/", &["log"]),
    ("/logs/syslog", &["log"]),
    ("/metrics", &["metrics"]),
    ("/metrics/slis", &["metrics"]),
    ("/metrics/cadvisor", &["metrics"]),
    ("/metrics/probes", &["metrics"]),
    ("/metrics/resource", &["metrics"]),
    ("/pods", &["pods", "proxy"]),
    ("/pods/", &["pods", "proxy"]),
    ("/portForward/ns/pod", &["proxy"]),
    ("/portForward/ns/pod/uid", &["proxy"]),
    ("/run/ns/pod/app", &["proxy"]),
    ("/run/ns/pod/uid/app", &["proxy"]),
    ("/runningpods/", &["pods", "proxy"]),
    ("/stats/", &["stats"]),
    ("/stats/summary", &["stats"]),
    ("/", &["proxy"]),
    ("/unknown", &["proxy"]),
];

#[test]
fn every_path_has_its_subresources() {
    for (path, expected) in PATHS {
        assert_eq!(subresources(path), expected, "{path}");
    }
}

#[test]
fn every_method_has_its_verb() {
    let methods = [
        ("POST", "create"),
        ("GET", "get"),
        ("PUT", "update"),
        ("PATCH", "patch"),
        ("DELETE", "delete"),
        ("HEAD", ""),
        ("OPTIONS", ""),
        ("get", ""),
    ];
    for (method, expected) in methods {
        assert_eq!(verb(method), expected, "{method}");
    }
}

#[test]
fn what_only_begins_alike_is_no_subpath() {
    let cases = [
        ("/foo", "/foo", true),
        ("/foo/", "/foo", true),
        ("/foo/bar", "/foo", true),
        ("/foobar", "/foo", false),
        ("/bar", "/foo", false),
        ("/fo", "/foo", false),
        ("foo", "/foo", false),
    ];
    for (path, root, expected) in cases {
        assert_eq!(is_below(path, root), expected, "{path} below {root}");
    }
    // A path that isn't normal is nothing but itself: what is routed is what is asked about.
    for path in ["/podsx", "//pods", "/./pods", "/%70ods", "/Pods"] {
        assert_eq!(subresources(path), ["proxy"], "{path}");
    }
}

#[test]
fn a_bearer_token_is_taken_in_any_case_of_its_scheme() {
    let cases = [
        ("Bearer abc", Some("abc")),
        ("bearer abc", Some("abc")),
        ("  BEARER abc def", Some("abc")),
        ("Bearer", None),
        ("Bearer ", None),
        ("Bearer  abc", None),
        ("Basic abc", None),
        ("", None),
    ];
    for (header, expected) in cases {
        assert_eq!(bearer_token(header), expected, "{header:?}");
    }
}

#[test]
fn who_is_known_is_in_the_group_of_all_known_once() {
    let of = |groups: &[&str]| with_authenticated(groups.iter().map(|g| (*g).to_owned()).collect());
    assert_eq!(of(&["system:nodes"]), ["system:nodes", AUTHENTICATED]);
    assert_eq!(of(&[AUTHENTICATED, "a"]), [AUTHENTICATED, "a"]);
    assert_eq!(of(&[]), [AUTHENTICATED]);
}

#[test]
fn refusals_have_upstreams_words() {
    assert_eq!(
        forbidden("phibby", "get", &["configz", "proxy"]),
        "Forbidden (user=phibby, verb=get, resource=nodes, subresource(s)=[configz proxy])\n"
    );
    assert_eq!(
        undecided("phibby", "create", &["proxy"]),
        "Authorization error (user=phibby, verb=create, resource=nodes, subresource=proxy)"
    );
}

#[test]
fn a_websocket_may_bring_its_token_as_a_protocol() {
    const TOKEN: &str = "base64url.bearer.authorization.k8s.io.YWRtaW4";
    let token = |values: &[&str]| websocket_token(values.iter().copied());
    let with = |rest: &str| format!("{TOKEN}{rest}");
    let admin = Ok(Some("admin".to_owned()));
    for (values, expected, left) in [
        (vec![], Ok(None), None),
        (vec!["v5.channel.k8s.io"], Ok(None), Some("v5.channel.k8s.io")),
        (vec![&*with(", v5.channel.k8s.io")], admin.clone(), Some("v5.channel.k8s.io")),
        (
            vec!["v5.channel.k8s.io", TOKEN, "v4.channel.k8s.io"],
            admin.clone(),
            Some("v5.channel.k8s.io,v4.channel.k8s.io"),
        ),
        (vec![TOKEN], Err(InvalidToken), None),
        (vec![TOKEN, "a", TOKEN], Err(InvalidToken), Some("a")),
        (vec![&*with("=, a")], Err(InvalidToken), Some("a")),
        (vec![&*with("+, a")], Err(InvalidToken), Some("a")),
        // Bytes that are no text.
        (vec!["base64url.bearer.authorization.k8s.io._w, a"], Err(InvalidToken), Some("a")),
        (vec!["base64url.bearer.authorization.k8s.io., a"], Ok(None), Some("a")),
        (
            vec!["base64.bearer.authorization.k8s.io.YWRtaW4, a"],
            Ok(None),
            Some("base64.bearer.authorization.k8s.io.YWRtaW4,a"),
        ),
    ] {
        assert_eq!(token(&values), expected, "{values:?}");
        assert_eq!(without_token(values.iter().copied()).as_deref(), left, "{values:?}");
    }
}

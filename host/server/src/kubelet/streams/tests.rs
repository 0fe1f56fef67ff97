//! What queries want of streams and ports.

use super::*;

fn pairs(text: &str) -> Vec<(String, String)> {
    query(&format!("/x?{text}").parse().expect("a path"))
}

#[test]
fn streams_are_the_ones_that_are_requested() {
    let of = |stdin, stdout, stderr, tty| Ok(StreamOptions { stdin, stdout, stderr, tty });
    let none = Err("you must specify at least 1 of stdin, stdout, stderr");
    let cases = [
        ("input=1&output=1&error=1", of(true, true, true, false)),
        ("input=1&output=1&error=1&tty=1", of(true, true, false, true)),
        ("output=1", of(false, true, false, false)),
        ("stdin=true&stdout=1", of(true, true, false, false)),
        ("output=0&error=1", of(false, false, true, false)),
        ("output=yes", none),
        ("tty=1", none),
        ("error=1&tty=1", none),
        ("", none),
    ];
    for (query, expected) in cases {
        assert_eq!(options(&pairs(query)), expected, "{query}");
    }
}

#[test]
fn websockets_are_counted_by_the_protocols_that_a_kubelet_serves_itself() {
    let (v5, tunnel) = ("v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io");
    for (upgrade, protocols, subresource, expected) in [
        ("websocket", "v5.channel.k8s.io, v4.channel.k8s.io", "exec", true),
        ("WebSocket", "v4.channel.k8s.io,v5.channel.k8s.io", "attach", true),
        ("websocket", "v4.channel.k8s.io", "exec", false),
        ("SPDY/3.1", v5, "exec", false),
        ("websocket", v5, "portforward", false),
        ("websocket", tunnel, "portforward", true),
        ("websocket", tunnel, "exec", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("upgrade", upgrade.parse().expect("a value"));
        headers.insert("sec-websocket-protocol", protocols.parse().expect("a value"));
        assert_eq!(is_counted(&headers, subresource), expected, "{upgrade} {protocols} {subresource}");
    }
}

#[test]
fn a_websocket_names_its_ports() {
    let mut headers = HeaderMap::new();
    assert_eq!(ports(&headers, &pairs("port=x")), Ok(Vec::new()), "SPDY names them in the stream");
    headers.insert("upgrade", "WebSocket".parse().expect("a value"));
    let refused = |words: &str| Err(words.to_owned());
    let cases = [
        ("port=80", Ok(vec![80])),
        ("port=80,81&port=443", Ok(vec![80, 81, 443])),
        ("", refused("query parameter \"port\" is required")),
        ("port=", refused("query parameter \"port\" cannot be empty")),
        ("port=0", refused("port \"0\" must be > 0")),
    ];
    for (query, expected) in cases {
        assert_eq!(ports(&headers, &pairs(query)), expected, "{query}");
    }
    for query in ["port=http", "port=70000", "port=80,", "port=-1"] {
        assert!(
            ports(&headers, &pairs(query)).is_err_and(|words| words.starts_with("unable to parse")),
            "{query}"
        );
    }
    assert!(ports(&headers, &pairs(&"port=1&".repeat(PORTS_MAX + 1))).is_err());
}

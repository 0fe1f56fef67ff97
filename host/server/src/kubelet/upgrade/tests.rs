//! Addresses of streaming servers, and how long a stream lives.

use tokio::io::duplex;

use super::*;

#[test]
fn streaming_urls_lead_to_where_the_runtime_listens() {
    let cases = [
        ("http://127.0.0.1:1234/exec/abc", ("127.0.0.1", 1234, "/exec/abc")),
        ("http://:1234/exec/abc", ("127.0.0.1", 1234, "/exec/abc")),
        ("http://0.0.0.0:1234/exec/abc?x=1", ("127.0.0.1", 1234, "/exec/abc?x=1")),
        ("http://[::]:1234/exec/abc", ("127.0.0.1", 1234, "/exec/abc")),
        ("http://[::1]:1234/exec/abc", ("::1", 1234, "/exec/abc")),
        ("http://localhost/", ("localhost", 80, "/")),
    ];
    for (url, (host, port, path)) in cases {
        let found = place(url).expect("a place");
        assert_eq!((found.0.as_str(), found.1, found.2.to_string().as_str()), (host, port, path), "{url}");
    }
    for url in [
        "https://127.0.0.1:1234/x",
        "unix:///run/x",
        "",
        "http://",
        "/exec/abc",
        "http://a:99999/",
        "http://a[::1]:1/",
    ] {
        assert!(place(url).is_err(), "{url}");
    }
}

#[test]
fn the_token_of_a_streaming_url_is_never_reported() {
    let cases = [
        ("http://127.0.0.1:1234/exec/secret", "http://127.0.0.1:1234"),
        ("http://:1234/exec/secret?x=http://a", "http://:1234"),
        ("http://[::1]:1234?secret", "http://[::1]:1234"),
        ("http://secret:secret@a:1/", "http://a:1"),
        ("http://a#secret", "http://a"),
        ("http://a:99999/secret", "http://a:99999"),
        ("http://a:/exec/secret", "http://a:"),
        ("https://a:1/exec/secret", "https://a:1"),
        ("unix:///run/secret", "unix://"),
        ("/exec/secret", "a URL without a host"),
        ("/exec/secret?of=http://a", "a URL without a host"),
        ("http://a b/exec/secret", "http://a b"),
        ("http://a:1/ex ec/secret", "http://a:1"),
        ("", "a URL without a host"),
    ];
    for (url, expected) in cases {
        assert_eq!(origin(url), expected, "{url}");
        if let Err(error) = place(url) {
            let words = format!("{error} {error:?}");
            assert!(!words.contains("secret"), "{url}: {words}");
        }
    }
}

#[test]
fn an_upgrade_is_asked_for_with_both_headers() {
    let cases = [
        (Some("Upgrade"), Some("SPDY/3.1"), true),
        (Some("keep-alive, upgrade"), Some("websocket"), true),
        (Some("keep-alive"), Some("websocket"), false),
        (Some("Upgrade"), None, false),
        (None, Some("websocket"), false),
    ];
    for (connection, upgrade, expected) in cases {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::CONNECTION, connection), (header::UPGRADE, upgrade)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().expect("a value"));
            }
        }
        assert_eq!(asks_for_upgrade(&headers), expected, "{connection:?} {upgrade:?}");
    }
}

#[test]
fn credentials_are_not_passed_on() {
    const TOKEN: &str = "base64url.bearer.authorization.k8s.io.YWRtaW4";
    let with_token = format!("{TOKEN}, v5.channel.k8s.io , v4.channel.k8s.io");
    for (protocols, expected) in [
        (vec![], vec![]),
        (vec!["v5.channel.k8s.io , v4.channel.k8s.io"], vec!["v5.channel.k8s.io , v4.channel.k8s.io"]),
        (vec![with_token.as_str()], vec!["v5.channel.k8s.io,v4.channel.k8s.io"]),
        (vec![TOKEN, "v5.channel.k8s.io"], vec!["v5.channel.k8s.io"]),
        (vec![TOKEN], vec![]),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer admin".parse().expect("a value"));
        headers.insert("x-kept", "kept".parse().expect("a value"));
        for value in &protocols {
            headers.append("sec-websocket-protocol", value.parse().expect("a value"));
        }
        let passed = passed_on(&headers);
        let values: Vec<&[u8]> =
            passed.get_all("sec-websocket-protocol").iter().map(|value| value.as_bytes()).collect();
        assert_eq!(
            values,
            expected.iter().map(|value| value.as_bytes()).collect::<Vec<_>>(),
            "{protocols:?}"
        );
        assert_eq!((passed.len(), passed["x-kept"].as_bytes()), (1 + expected.len(), &b"kept"[..]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_idle_only_while_nothing_moves_either_way() {
    let idle = Duration::from_secs(60);
    let (mut sender, left) = duplex(1024);
    let (right, mut backend) = duplex(1024);
    let began = Instant::now();
    let carried = async {
        both_ways(left, right, idle).await;
        began.elapsed()
    };
    let talk = async {
        for _ in 0..3 {
            tokio::time::sleep(idle - Duration::from_secs(1)).await;
            backend.write_all(b"x").await.expect("written");
            sender.read_u8().await.expect("read");
        }
    };
    let (lasted, ()) = tokio::join!(carried, talk);
    assert_eq!(lasted, idle * 4 - Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn one_end_gives_the_other_way_a_while() {
    let (sender, left) = duplex(1024);
    let (right, mut backend) = duplex(1024);
    let began = Instant::now();
    let carried = async {
        both_ways(left, right, Duration::from_hours(4)).await;
        began.elapsed()
    };
    let end = async {
        backend.shutdown().await.expect("ended");
        tokio::time::sleep(LINGER * 2).await;
        drop((sender, backend));
    };
    let (lasted, ()) = tokio::join!(carried, end);
    assert_eq!(lasted, LINGER);
}

/// A streaming server that has sent all closes, whether or not its client has said all.
#[tokio::test(start_paused = true)]
async fn the_last_output_reaches_a_client_that_still_sends() {
    // What is on its way to the sender doesn't fit at once.
    let (mut sender, left) = duplex(16);
    let (right, mut backend) = duplex(1024);
    let words = vec![7; 512];
    backend.write_all(&words).await.expect("capacity");
    drop(backend);
    sender.write_all(b"late").await.expect("capacity");
    let mut received = Vec::new();
    let carried = both_ways(left, right, Duration::from_hours(4));
    let (read, ()) = tokio::join!(sender.read_to_end(&mut received), carried);
    assert_eq!((read.expect("an end"), received == words), (512, true));
}

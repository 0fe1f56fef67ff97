//! HTTP probes against servers on loopback.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::testing::{LONG, SHORT, Seen, Server, answer, ends, free_port, read_head};

fn target(server: &Server, path: &str) -> Target {
    Target { scheme: Scheme::Http, host: server.host(), port: server.port(), path: path.to_owned() }
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn get(target: Target) -> Result<ProbeOutcome, ProbeError> {
    ends(probe(target, &pairs(&[("User-Agent", "kube-probe/1.36")]), LONG)).await
}

async fn get_path(server: &Server, path: &str) -> ProbeOutcome {
    get(target(server, path)).await.expect("the probe can be judged")
}

/// What is said of a server that misbehaves, within a short time.
async fn hurried(target: Target) -> Result<ProbeOutcome, ProbeError> {
    ends(probe(target, &[], SHORT)).await
}

fn failure(outcome: Result<ProbeOutcome, ProbeError>) -> String {
    match outcome {
        Ok(ProbeOutcome::Failure(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_status_decides() {
    let server = Server::http(|head| {
        let status = head.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
        answer(&format!("{status} Whatever"), &[], "body")
    })
    .await;
    let cases = [
        (200, ProbeOutcome::Success("body".to_owned())),
        (204, ProbeOutcome::Success(String::new())),
        (299, ProbeOutcome::Success("body".to_owned())),
        (300, ProbeOutcome::Warning("Probe terminated redirects, Response body: body".to_owned())),
        (302, ProbeOutcome::Warning("Probe terminated redirects, Response body: body".to_owned())),
        (399, ProbeOutcome::Warning("Probe terminated redirects, Response body: body".to_owned())),
        (400, ProbeOutcome::Failure("HTTP probe failed with statuscode: 400".to_owned())),
        (404, ProbeOutcome::Failure("HTTP probe failed with statuscode: 404".to_owned())),
        (500, ProbeOutcome::Failure("HTTP probe failed with statuscode: 500".to_owned())),
        (599, ProbeOutcome::Failure("HTTP probe failed with statuscode: 599".to_owned())),
    ];
    for (status, expected) in cases {
        assert_eq!(get_path(&server, &format!("/{status}")).await, expected, "{status}");
    }
}

#[tokio::test]
async fn the_request_is_as_the_spec_has_it() {
    let seen = Seen::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        answer("200 OK", &[], "")
    })
    .await;
    let cases = [
        (
            pairs(&[("Accept", "*/*"), ("X-A", "1"), ("X-A", "2")]),
            None,
            "Accept: */*\r\nX-A: 1\r\nX-A: 2\r\n",
        ),
        (pairs(&[("Host", "example.org")]), Some("example.org"), ""),
        (pairs(&[]), None, ""),
    ];
    for (headers, host, sent) in cases {
        let outcome = ends(probe(target(&server, "/a%20b?c=d"), &headers, LONG)).await;
        assert_eq!(outcome, Ok(ProbeOutcome::Success(String::new())));
        let host = host.map_or_else(|| server.addr.to_string(), str::to_owned);
        let expected = format!("GET /a%20b?c=d HTTP/1.1\r\nHost: {host}\r\n{sent}Connection: close\r\n\r\n");
        assert_eq!(seen.all().last(), Some(&expected));
    }
}

#[tokio::test]
async fn a_request_that_cant_be_made_is_a_failure() {
    let server = Server::http(|_| answer("200 OK", &[], "")).await;
    for (name, value) in [("X A", "1"), ("X-A", "1\r\nX-B: 2"), ("", "1")] {
        let outcome = ends(probe(target(&server, "/"), &pairs(&[(name, value)]), LONG)).await;
        let text = failure(outcome);
        assert!(text.contains("invalid request"), "{name:?}: {text}");
    }
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let other = Server::http(|_| answer("200 OK", &[], "elsewhere")).await;
    let port = other.port();
    let secure = Server::https(|_| answer("200 OK", &[], "secure")).await;
    let secure_port = secure.port();
    let server = Server::http(move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let to = |location: &str| answer("302 Found", &[&format!("Location: {location}")], "moved");
        match path {
            "/end?x" | "/end" | "/a/end" => answer("200 OK", &[], path),
            "/absolute" => to("/end?x#part"),
            "/a/relative" => to("end"),
            "/end?query" => to("?x"),
            "/port" => to(&format!("http://127.0.0.1:{port}")),
            "/secure" => to(&format!("https://127.0.0.1:{secure_port}/")),
            "/away" => to("http://0.0.0.0/"),
            "/away-quietly" => to("//localhost/"),
            "/nowhere" => to("ftp://127.0.0.1/"),
            "/loop" => to("/loop"),
            "/no-location" => answer("307 Temporary Redirect", &[], "moved"),
            other => match other.strip_prefix("/status/") {
                Some(status) => answer(&format!("{status} X"), &["Location: /end"], "moved"),
                None => answer("404 Not Found", &[], ""),
            },
        }
    })
    .await;
    let followed = |body: &str| ProbeOutcome::Success(body.to_owned());
    let moved = ProbeOutcome::Warning("Probe terminated redirects, Response body: moved".to_owned());
    let address = server.addr;
    let failed =
        |path: &str, why: &str| ProbeOutcome::Failure(format!("Get \"http://{address}{path}\": {why}"));
    let cases = [
        ("/absolute", followed("/end?x")),
        ("/a/relative", followed("/a/end")),
        ("/end?query", followed("/end?x")),
        ("/port", followed("elsewhere")),
        ("/secure", followed("secure")),
        ("/status/301", followed("/end")),
        ("/status/303", followed("/end")),
        ("/status/307", followed("/end")),
        ("/status/308", followed("/end")),
        ("/status/304", ProbeOutcome::Warning("Probe terminated redirects, Response body: ".to_owned())),
        ("/away", moved.clone()),
        ("/away-quietly", moved.clone()),
        ("/no-location", moved),
        ("/loop", failed("/loop", "stopped after 10 redirects")),
        ("/nowhere", failed("/nowhere", "failed to parse Location header \"ftp://127.0.0.1/\"")),
    ];
    for (path, expected) in cases {
        assert_eq!(get_path(&server, path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn the_given_host_is_named_until_a_redirect_names_one() {
    let seen = Seen::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        let port = head.split("X-Port: ").nth(1).and_then(|rest| rest.split('\r').next());
        let location = match head.split(' ').nth(1) {
            Some("/a") => "/b".to_owned(),
            Some("/b") => format!("http://127.0.0.1:{}/c", port.unwrap_or_default()),
            _ => return answer("200 OK", &[], "end"),
        };
        answer("301 Moved", &[&format!("Location: {location}")], "")
    })
    .await;
    let headers = pairs(&[("Host", "example.org"), ("X-Port", &server.port().to_string())]);
    let outcome = ends(probe(target(&server, "/a"), &headers, LONG)).await;
    assert_eq!(outcome, Ok(ProbeOutcome::Success("end".to_owned())));
    let hosts: Vec<String> =
        seen.all().iter().filter_map(|head| head.lines().nth(1).map(str::to_owned)).collect();
    assert_eq!(hosts, ["Host: example.org", "Host: example.org", &format!("Host: {}", server.addr)]);
}

#[tokio::test]
async fn only_the_beginning_of_a_large_body_is_read() {
    // It would take forever to send all of it.
    let server = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    let ProbeOutcome::Success(body) = get_path(&server, "/").await else { panic!("it answers well") };
    assert_eq!(body, "x".repeat(OUTPUT_BYTES_MAX));
    let small = Server::http(|_| answer("200 OK", &[], "\u{fffd} ü")).await;
    assert_eq!(get_path(&small, "/").await, ProbeOutcome::Success("\u{fffd} ü".to_owned()));
}

#[tokio::test]
async fn nobody_at_the_port_is_a_failure() {
    let port = free_port().await;
    let nobody = Target { scheme: Scheme::Http, host: "127.0.0.1".to_owned(), port, path: "/x".to_owned() };
    let expected =
        format!("Get \"http://127.0.0.1:{port}/x\": dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(failure(get(nobody).await), expected);
}

#[tokio::test]
async fn a_server_that_never_finishes_its_headers_is_a_failure_in_time() {
    async fn silent(mut stream: TcpStream) {
        read_head(&mut stream).await;
        std::future::pending().await
    }
    async fn trickle(mut stream: TcpStream) {
        for byte in b"HTTP/1.1 200 OK\r\nx: " {
            let _ = stream.write_all(&[*byte]).await;
        }
        while stream.write_all(b"y").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    }
    let servers = [Server::new(silent).await, Server::new(trickle).await];
    for server in &servers {
        let text = failure(hurried(target(server, "/")).await);
        assert!(
            text.ends_with("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
            "{text}"
        );
        let secure = Target { scheme: Scheme::Https, ..target(server, "/") };
        failure(hurried(secure).await);
    }
}

#[tokio::test]
async fn endless_headers_are_a_failure() {
    let server = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream
            .write_all(b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n")
            .await
            .is_ok()
        {}
    })
    .await;
    let text = failure(get(target(&server, "/")).await);
    assert!(text.contains("malformed HTTP exchange"), "{text}");
}

#[tokio::test]
async fn a_body_that_breaks_off_or_dawdles_cant_be_judged() {
    let broken = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
    })
    .await;
    assert!(hurried(target(&broken, "/")).await.is_err());
    let slow = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
        std::future::pending().await
    })
    .await;
    let error = hurried(target(&slow, "/")).await.expect_err("it has no end");
    assert!(error.message.contains("while reading body"), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_up_or_talks_nonsense_is_a_failure() {
    let resets = Server::new(|stream| async move {
        stream.set_zero_linger().expect("it is a socket");
    })
    .await;
    let closes = Server::new(|mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await;
    let nonsense = Server::new(|mut stream| async move {
        let _ = stream.write_all(b"220 smtp.example.org ESMTP\r\n\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    for server in [&resets, &closes, &nonsense] {
        failure(get(target(server, "/")).await);
        failure(get(Target { scheme: Scheme::Https, ..target(server, "/") }).await);
    }
}

#[tokio::test]
async fn certificates_arent_verified() {
    let server = Server::https(|_| answer("200 OK", &[], "secret")).await;
    let secure = Target { scheme: Scheme::Https, ..target(&server, "/") };
    assert_eq!(get(secure).await, Ok(ProbeOutcome::Success("secret".to_owned())));
    // By name, too: then the name is part of the handshake.
    let named = Target { scheme: Scheme::Https, host: "localhost".to_owned(), ..target(&server, "/") };
    assert_eq!(get(named).await, Ok(ProbeOutcome::Success("secret".to_owned())));
}

#[tokio::test]
async fn tls_with_a_server_that_has_none_is_a_failure_that_says_so() {
    let server = Server::new(|mut stream| async move {
        let mut hello = [0; 64];
        let _ = stream.read(&mut hello).await;
        let _ = stream.write_all(answer("400 Bad Request", &[], "speak HTTP").as_bytes()).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let secure = Target { scheme: Scheme::Https, ..target(&server, "/") };
    let expected =
        format!("Get \"https://{}/\": http: server gave HTTP response to HTTPS client", server.addr);
    assert_eq!(failure(get(secure).await), expected);
}

#[tokio::test]
async fn many_probes_of_stuck_servers_hold_up_no_other() {
    let stuck = Server::stuck().await;
    let good = Server::http(|_| answer("200 OK", &[], "fine")).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let target = target(&stuck, "/");
        waiting.spawn(async move { probe(target, &[], LONG).await });
    }
    for _ in 0..20 {
        assert_eq!(get_path(&good, "/").await, ProbeOutcome::Success("fine".to_owned()));
    }
    assert!(waiting.try_join_next().is_none(), "they wait still");
}

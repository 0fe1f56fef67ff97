//! Requests of hooks against servers on loopback.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::testing::{ClosedPort, LIMIT, RequestLog, Server, ServerKinds, answer, ends, outlasts, read_head};

fn hooks() -> HttpHooks {
    HttpHooks::new(Egress::system())
}

fn hook(scheme: Scheme, port: u16, headers: &[(&str, &str)]) -> HttpHook {
    HttpHook {
        scheme,
        host: "127.0.0.1".to_owned(),
        port,
        path: "/stop".to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

#[tokio::test]
async fn any_answer_is_a_success() {
    for status in ["200 OK", "302 Found", "404 Not Found", "500 Broken"] {
        let server = Server::http(move |_| answer(status, &[], "body")).await;
        let sent = ends(hooks().send(&hook(Scheme::Http, server.port(), &[]), LIMIT)).await;
        assert_eq!(sent, Ok(false), "{status}");
    }
    let secure = Server::https(|_| answer("200 OK", &[], "")).await;
    assert_eq!(ends(hooks().send(&hook(Scheme::Https, secure.port(), &[]), LIMIT)).await, Ok(false));
}

#[tokio::test]
async fn an_answer_whose_body_never_ends_is_one() {
    let server = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
        std::future::pending().await
    })
    .await;
    assert_eq!(ends(hooks().send(&hook(Scheme::Http, server.port(), &[]), LIMIT)).await, Ok(false));
}

#[tokio::test]
async fn https_falls_back_to_http_without_its_secret() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::new(move |mut stream| {
        let log = log.clone();
        async move {
            let mut first = [0; 3];
            if stream.read_exact(&mut first).await.is_err() {
                return;
            }
            if first == *b"GET" {
                log.add(&read_head(&mut stream).await);
            }
            let _ = stream.write_all(answer("400 Bad Request", &[], "").as_bytes()).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    })
    .await;
    let hook = hook(Scheme::Https, server.port(), &[("authorization", "Bearer x"), ("X-A", "1")]);
    assert_eq!(ends(hooks().send(&hook, LIMIT)).await, Ok(true));
    let expected =
        format!(" /stop HTTP/1.1\r\nHost: {}\r\nX-A: 1\r\nConnection: close\r\n\r\n", server.address);
    assert_eq!(seen.all(), [expected]);
}

#[tokio::test]
async fn no_answer_is_an_error_in_time() {
    let closed = ClosedPort::new();
    let port = closed.port();
    let refused = format!(
        "Get \"http://127.0.0.1:{port}/stop\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    let sent = ends(hooks().send(&hook(Scheme::Http, port, &[]), LIMIT)).await;
    assert_eq!(sent, Err(HookError { message: refused }));

    let (stuck, asked) = Server::receives_and_says_nothing().await;
    for scheme in [Scheme::Http, Scheme::Https] {
        let sent = outlasts(hooks().send(&hook(scheme, stuck.port(), &[]), LIMIT), &asked).await;
        let error = sent.expect_err("it never answers");
        assert!(error.message.contains("deadline exceeded"), "{error}");
    }
    // TLS that goes wrong in another way isn't tried in the clear.
    let resets = Server::new(|stream| async move {
        stream.set_zero_linger().expect("it is a socket");
    })
    .await;
    assert!(ends(hooks().send(&hook(Scheme::Https, resets.port(), &[]), LIMIT)).await.is_err());
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let seen = RequestLog::default();
    let (log, other_log) = (seen.clone(), seen.clone());
    let other = Server::http(move |_| {
        other_log.add("other port");
        answer("200 OK", &[], "")
    })
    .await;
    let port = other.port();
    let server = Server::http(move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        log.add(path);
        let to = |location: &str| answer("302 Found", &[&format!("Location: {location}")], "moved");
        match path {
            "/absolute" => to("/end?x#part"),
            "/a/relative" => to("end"),
            "/query?a" => to("?b"),
            "/port" => to(&format!("http://127.0.0.1:{port}")),
            "/away" => to("http://169.254.169.254/"),
            "/away-quietly" => to("//localhost/"),
            "/nowhere" => to("ftp://127.0.0.1/"),
            "/loop" => to("/loop"),
            "/no-location" => answer("307 Temporary Redirect", &[], "moved"),
            "/304" => answer("304 Not Modified", &["Location: /end"], ""),
            _ => answer("200 OK", &[], ""),
        }
    })
    .await;
    let cases: [(&str, &[&str], Option<&str>); 10] = [
        ("/absolute", &["/absolute", "/end?x"], None),
        ("/a/relative", &["/a/relative", "/a/end"], None),
        ("/query?a", &["/query?a", "/query?b"], None),
        ("/port", &["/port", "other port"], None),
        ("/away", &["/away"], None),
        ("/away-quietly", &["/away-quietly"], None),
        ("/no-location", &["/no-location"], None),
        ("/304", &["/304"], None),
        ("/loop", &["/loop"; REDIRECTS_MAX], Some("stopped after 10 redirects")),
        ("/nowhere", &["/nowhere"], Some("failed to parse Location header \"ftp://127.0.0.1/\"")),
    ];
    let mut before = 0;
    for (path, asked, error) in cases {
        let hook = HttpHook { path: path.to_owned(), ..hook(Scheme::Http, server.port(), &[]) };
        let sent = ends(hooks().send(&hook, LIMIT)).await;
        let expected = error
            .map(|words| HookError { message: format!("Get \"http://{}{path}\": {words}", server.address) });
        assert_eq!(sent.err(), expected, "{path}");
        assert_eq!(seen.all()[before..], *asked, "{path}");
        before = seen.all().len();
    }
}

#[tokio::test]
async fn the_given_host_is_named_until_a_redirect_names_one() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head.lines().nth(1).unwrap_or_default());
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
    let hook = HttpHook { path: "/a".to_owned(), headers, ..hook(Scheme::Http, server.port(), &[]) };
    assert_eq!(ends(hooks().send(&hook, LIMIT)).await, Ok(false));
    assert_eq!(seen.all(), ["Host: example.org", "Host: example.org", &format!("Host: {}", server.address)]);
}

#[tokio::test]
async fn a_request_that_cant_be_made_is_an_error() {
    let server = Server::stuck().await;
    for header in [("X A", "1"), ("X-A", "1\r\nX-B: 2"), ("", "1")] {
        let sent = ends(hooks().send(&hook(Scheme::Http, server.port(), &[header]), LIMIT)).await;
        let error = sent.expect_err("it can't be sent");
        assert!(error.message.contains("invalid request"), "{header:?}: {error}");
    }
    let spaced = HttpHook { host: "not a name".to_owned(), ..hook(Scheme::Http, server.port(), &[]) };
    let error = ends(hooks().send(&spaced, LIMIT)).await.expect_err("it can't be sent");
    assert!(error.message.contains("invalid request"), "{error}");
}

#[tokio::test]
async fn a_hook_doesnt_reach_metadata_servers() {
    for host in ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0"] {
        let hook = HttpHook { host: host.to_owned(), ..hook(Scheme::Http, 80, &[]) };
        let error = ends(hooks().send(&hook, LIMIT)).await.expect_err("it is refused");
        assert!(error.message.ends_with("not granted"), "{host}: {error}");
    }
}

#[tokio::test]
async fn a_host_by_name_is_asked_by_its_name() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head.lines().nth(1).unwrap_or_default());
        answer("200 OK", &[], "")
    })
    .await;
    let hook = HttpHook { host: "localhost".to_owned(), ..hook(Scheme::Http, server.port(), &[]) };
    assert_eq!(ends(hooks().send(&hook, LIMIT)).await, Ok(false));
    assert_eq!(seen.all(), [format!("Host: localhost:{}", server.port())]);
}

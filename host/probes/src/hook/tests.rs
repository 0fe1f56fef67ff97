//! Requests of hooks against servers on loopback.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::testing::{LONG, SHORT, Seen, Server, answer, ends, free_port, read_head};

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
        let sent = ends(HttpHooks.send(&hook(Scheme::Http, server.port(), &[]), LONG)).await;
        assert_eq!(sent, Ok(false), "{status}");
    }
    let secure = Server::https(|_| answer("200 OK", &[], "")).await;
    assert_eq!(ends(HttpHooks.send(&hook(Scheme::Https, secure.port(), &[]), LONG)).await, Ok(false));
}

#[tokio::test]
async fn an_answer_whose_body_never_ends_is_one() {
    let server = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
        std::future::pending().await
    })
    .await;
    assert_eq!(ends(HttpHooks.send(&hook(Scheme::Http, server.port(), &[]), LONG)).await, Ok(false));
}

#[tokio::test]
async fn https_falls_back_to_http_without_its_secret() {
    let seen = Seen::default();
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
    assert_eq!(ends(HttpHooks.send(&hook, LONG)).await, Ok(true));
    let expected = format!(" /stop HTTP/1.1\r\nHost: {}\r\nX-A: 1\r\nConnection: close\r\n\r\n", server.addr);
    assert_eq!(seen.all(), [expected]);
}

#[tokio::test]
async fn no_answer_is_an_error_in_time() {
    let port = free_port().await;
    let refused = format!(
        "Get \"http://127.0.0.1:{port}/stop\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    let sent = ends(HttpHooks.send(&hook(Scheme::Http, port, &[]), LONG)).await;
    assert_eq!(sent, Err(HookError { message: refused }));

    let stuck = Server::stuck().await;
    for scheme in [Scheme::Http, Scheme::Https] {
        let sent = ends(HttpHooks.send(&hook(scheme, stuck.port(), &[]), SHORT)).await;
        let error = sent.expect_err("it never answers");
        assert!(error.message.contains("deadline exceeded"), "{error}");
    }
    // TLS that goes wrong in another way isn't tried in the clear.
    let resets = Server::new(|stream| async move {
        stream.set_zero_linger().expect("it is a socket");
    })
    .await;
    assert!(ends(HttpHooks.send(&hook(Scheme::Https, resets.port(), &[]), LONG)).await.is_err());
}

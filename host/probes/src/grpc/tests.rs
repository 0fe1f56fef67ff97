//! Health checks against gRPC servers on loopback.

use h2::server;
use hyper::{HeaderMap, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::testing::{LONG, SHORT, Seen, Server, ends, free_port};

/// How the server answers a service.
enum Answer {
    Message(Vec<u8>),
    /// Headers with a status, and nothing else.
    Status(&'static str, &'static str),
    Trailers(&'static str, &'static str),
    Http(u16),
    Reset,
    Silence,
}

/// The framed message with this status.
fn message(status: u8) -> Answer {
    Answer::Message(vec![0, 0, 0, 0, 2, 0x08, status])
}

fn by_service(service: &[u8]) -> Answer {
    match service {
        [] | b"good" => message(1),
        b"bad" => message(2),
        b"unknown" => message(3),
        b"strange" => message(9),
        b"default" => Answer::Message(vec![0, 0, 0, 0, 0]),
        b"more" => Answer::Message(vec![0, 0, 0, 0, 9, 0x12, 1, b'x', 0x18, 5, 0x08, 1, 0x20, 0]),
        b"nonsense" => Answer::Message(vec![0, 0, 0, 0, 200, 0xff]),
        b"large" => Answer::Message(vec![0; 1_000_000]),
        b"unimplemented" => Answer::Status("12", "no%20such%20method"),
        b"missing" => Answer::Status("5", "unknown service"),
        b"late" => Answer::Status("4", ""),
        b"odd" => Answer::Status("x", ""),
        b"trailers" => Answer::Trailers("14", "shutting down"),
        b"http" => Answer::Http(503),
        b"reset" => Answer::Reset,
        _ => Answer::Silence,
    }
}

fn status_headers(code: &'static str, message: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("grpc-status", HeaderValue::from_static(code));
    headers.insert("grpc-message", HeaderValue::from_static(message));
    headers
}

async fn serve(stream: TcpStream, seen: Seen) {
    let Ok(mut connection) = server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let headers = request.headers();
        seen.add(&format!(
            "{} {} {:?} {:?}",
            request.method(),
            request.uri().path(),
            headers.get("content-type"),
            headers.get("user-agent"),
        ));
        let mut body = request.into_body();
        // The request's body comes with the connection's next frames.
        let mut read = Box::pin(async move {
            let mut framed = Vec::new();
            while let Some(Ok(data)) = body.data().await {
                framed.extend_from_slice(&data);
            }
            framed
        });
        let framed = tokio::select! {
            framed = &mut read => framed,
            _ = connection.accept() => return,
        };
        let service = framed.get(7..).unwrap_or_default();
        let mut response = Response::new(());
        match by_service(service) {
            Answer::Message(bytes) => {
                let Ok(mut stream) = respond.send_response(response, false) else { return };
                let _ = stream.send_data(bytes.into(), false);
                let _ = stream.send_trailers(status_headers("0", ""));
            }
            Answer::Status(code, message) => {
                *response.headers_mut() = status_headers(code, message);
                let _ = respond.send_response(response, true);
            }
            Answer::Trailers(code, message) => {
                let Ok(mut stream) = respond.send_response(response, false) else { return };
                let _ = stream.send_trailers(status_headers(code, message));
            }
            Answer::Http(status) => {
                *response.status_mut() = StatusCode::from_u16(status).expect("it is one");
                let _ = respond.send_response(response, true);
            }
            Answer::Reset => respond.send_reset(h2::Reason::REFUSED_STREAM),
            Answer::Silence => std::future::pending().await,
        }
    }
}

async fn health(seen: Seen) -> Server {
    Server::new(move |stream| serve(stream, seen.clone())).await
}

fn failure(text: &str) -> ProbeOutcome {
    ProbeOutcome::Failure(text.to_owned())
}

#[tokio::test]
async fn only_serving_is_a_success() {
    let seen = Seen::default();
    let server = health(seen.clone()).await;
    let healthy = ProbeOutcome::Success("service healthy".to_owned());
    let cases = [
        ("", healthy.clone()),
        ("good", healthy.clone()),
        ("more", healthy),
        ("bad", failure("service unhealthy (responded with \"NOT_SERVING\")")),
        ("unknown", failure("service unhealthy (responded with \"SERVICE_UNKNOWN\")")),
        ("default", failure("service unhealthy (responded with \"UNKNOWN\")")),
        ("strange", failure("service unhealthy (responded with \"9\")")),
        (
            "unimplemented",
            failure(
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no such method",
            ),
        ),
        ("late", failure("timeout: health rpc did not complete within 30s")),
        (
            "missing",
            failure("error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"),
        ),
        ("odd", failure("error: health rpc probe failed: rpc error: code = Unknown desc = ")),
        (
            "trailers",
            failure("error: health rpc probe failed: rpc error: code = Unavailable desc = shutting down"),
        ),
        (
            "http",
            failure(
                "error: health rpc probe failed: rpc error: code = Unknown desc = unexpected HTTP status code 503",
            ),
        ),
        (
            "nonsense",
            failure("error: health rpc probe failed: rpc error: code = Internal desc = malformed answer"),
        ),
        (
            "large",
            failure("error: health rpc probe failed: rpc error: code = Internal desc = malformed answer"),
        ),
    ];
    for (service, expected) in cases {
        assert_eq!(ends(probe(&server.host(), server.port(), service, LONG)).await, expected, "{service}");
    }
    let request = "POST /grpc.health.v1.Health/Check Some(\"application/grpc\") Some(\"kube-probe/1.36\")";
    assert_eq!(seen.all()[0], request);
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_never_comes_is_a_failure_in_time() {
    let server = health(Seen::default()).await;
    let reset = ends(probe(&server.host(), server.port(), "reset", LONG)).await;
    assert!(
        matches!(&reset, ProbeOutcome::Failure(text) if text.contains("code = Unavailable")),
        "{reset:?}"
    );
    let silent = ends(probe(&server.host(), server.port(), "silence", SHORT)).await;
    assert_eq!(silent, failure("timeout: health rpc did not complete within 0.3s"));
}

#[tokio::test]
async fn a_server_that_doesnt_speak_http2_is_a_failure_in_time() {
    let stuck = Server::stuck().await;
    let nonsense = Server::new(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let resets = Server::new(|stream| async move {
        stream.set_zero_linger().expect("it is a socket");
    })
    .await;
    let outcome = ends(probe(&stuck.host(), stuck.port(), "", SHORT)).await;
    assert_eq!(outcome, failure("timeout: health rpc did not complete within 0.3s"));
    for server in [&nonsense, &resets] {
        let outcome = ends(probe(&server.host(), server.port(), "", LONG)).await;
        assert!(
            matches!(&outcome, ProbeOutcome::Failure(text) if text.starts_with("error: health rpc probe failed")),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn nobody_at_the_port_is_a_failure() {
    let port = free_port().await;
    let expected = format!(
        "error: failed to connect service at \"127.0.0.1:{port}\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    assert_eq!(ends(probe("127.0.0.1", port, "", LONG)).await, failure(&expected));
}

#[test]
fn messages_are_framed_protobuf() {
    assert_eq!(message::request("")[..], [0, 0, 0, 0, 0]);
    assert_eq!(message::request("db")[..], [0, 0, 0, 0, 4, 0x0a, 2, b'd', b'b']);
    let long = message::request(&"x".repeat(300));
    assert_eq!(long[..8], [0, 0, 0, 1, 47, 0x0a, 0xac, 2]);
    // Bytes of an answer → its status.
    let cases: [(&[u8], Option<u64>); 9] = [
        (&[0, 0, 0, 0, 2, 8, 1], Some(1)),
        (&[0, 0, 0, 0, 3, 8, 0x81, 1], Some(129)),
        (&[0, 0, 0, 0, 0], Some(0)),
        (&[0, 0, 0, 0, 11, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1], Some(1)),
        (&[0, 0, 0, 0, 7, 0x25, 0, 0, 0, 0, 8, 2], Some(2)),
        (&[1, 0, 0, 0, 2, 8, 1], None),
        (&[0, 0, 0, 0, 3, 8, 1], None),
        (&[0, 0, 0, 0, 1, 0x0b], None),
        (&[0, 0], None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(message::status(bytes), expected, "{bytes:?}");
    }
    let overlong = [&[0, 0, 0, 0, 12, 8][..], &[0xff; 11]].concat();
    assert_eq!(message::status(&overlong), None);
    for (text, decoded) in [("a%20b", "a b"), ("100%", "100%"), ("%zz%41", "%zzA"), ("%C3%BC", "ü")] {
        assert_eq!(message::percent_decoded(text), decoded);
    }
}

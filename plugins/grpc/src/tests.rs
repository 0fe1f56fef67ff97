//! Health checks of servers on loopback, made by another implementation of HTTP/2.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use h2::server;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{Grpc, Parameters, SERVICE_BYTES_MAX};

/// What nothing good takes.
const LONG: Duration = Duration::from_secs(30);
/// What something bad outlasts.
const SHORT: Duration = Duration::from_millis(300);
/// No one listens at `tcpmux`, which no server is given by chance: a port that was free a moment ago may be another test's now.
const CLOSED_PORT: u16 = 1;

fn probe(port: u16, service: &str, remaining: Duration) -> Outcome {
    let facts = TargetFacts { pod_ips: vec!["127.0.0.1".to_owned()], remaining, ..TargetFacts::default() };
    let parameters = Parameters { port, service: Some(service.to_owned()) };
    Grpc::probe(&facts.target(), &parameters, &()).expect("an outcome")
}

fn failure(text: &str) -> Outcome {
    Outcome::Failure(text.to_owned())
}

/// How the server answers a service.
enum ServerReply {
    Message(Vec<u8>),
    /// Headers with a status, and nothing else.
    Status(&'static str, &'static str),
    Trailers(&'static str, &'static str),
    Http(u16),
    Reset,
    Silence,
}

/// The framed message with this status.
fn message(status: u8) -> ServerReply {
    ServerReply::Message(vec![0, 0, 0, 0, 2, 0x08, status])
}

fn by_service(service: &[u8]) -> ServerReply {
    match service {
        [] | b"good" => message(1),
        b"bad" => message(2),
        b"unknown" => message(3),
        b"strange" => message(9),
        b"default" => ServerReply::Message(vec![0, 0, 0, 0, 0]),
        b"more" => ServerReply::Message(vec![0, 0, 0, 0, 9, 0x12, 1, b'x', 0x18, 5, 0x08, 1, 0x20, 0]),
        b"nonsense" => ServerReply::Message(vec![0, 0, 0, 0, 200, 0xff]),
        b"large" => ServerReply::Message(vec![0; 60_000]),
        b"unimplemented" => ServerReply::Status("12", "no%20such%20method"),
        b"missing" => ServerReply::Status("5", "unknown service"),
        b"late" => ServerReply::Status("4", ""),
        b"odd" => ServerReply::Status("x", ""),
        b"trailers" => ServerReply::Trailers("14", "shutting down"),
        b"http" => ServerReply::Http(503),
        b"elsewhere" => ServerReply::Http(404),
        b"reset" => ServerReply::Reset,
        _ => ServerReply::Silence,
    }
}

fn status_headers(code: &'static str, message: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("grpc-status", HeaderValue::from_static(code));
    headers.insert("grpc-message", HeaderValue::from_static(message));
    headers
}

async fn serve(stream: tokio::net::TcpStream) {
    let Ok(mut connection) = server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri().path(), "/grpc.health.v1.Health/Check");
        assert_eq!(text("content-type"), Some("application/grpc"));
        assert_eq!((text("te"), text("user-agent")), (Some("trailers"), Some("kube-probe/1.36")));
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
        let mut response = Response::new(());
        response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
        match by_service(framed.get(7..).unwrap_or_default()) {
            ServerReply::Message(bytes) => {
                let Ok(mut stream) = respond.send_response(response, false) else { return };
                let _ = stream.send_data(bytes.into(), false);
                let _ = stream.send_trailers(status_headers("0", ""));
            }
            ServerReply::Status(code, message) => {
                response.headers_mut().extend(status_headers(code, message));
                let _ = respond.send_response(response, true);
            }
            ServerReply::Trailers(code, message) => {
                let Ok(mut stream) = respond.send_response(response, false) else { return };
                let _ = stream.send_trailers(status_headers(code, message));
            }
            ServerReply::Http(status) => {
                *response.status_mut() = StatusCode::from_u16(status).expect("it is one");
                let _ = respond.send_response(response, true);
            }
            ServerReply::Reset => respond.send_reset(h2::Reason::REFUSED_STREAM),
            ServerReply::Silence => std::future::pending().await,
        }
    }
}

/// A health service that ends with the runtime.
fn health(runtime: &tokio::runtime::Runtime) -> SocketAddr {
    let listener =
        runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("loopback has a port");
    let address = listener.local_addr().expect("it is bound");
    runtime.spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream));
        }
    });
    address
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn only_serving_is_a_success() {
    let runtime = runtime();
    let port = health(&runtime).port();
    let healthy = || Outcome::Success("service healthy".to_owned());
    let rpc = |text: &str| failure(&format!("error: health rpc probe failed: rpc error: code = {text}"));
    let unimplemented = |text: &str| {
        failure(&format!(
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {text}"
        ))
    };
    let cases = [
        ("", healthy()),
        ("good", healthy()),
        ("more", healthy()),
        ("bad", failure("service unhealthy (responded with \"NOT_SERVING\")")),
        ("unknown", failure("service unhealthy (responded with \"SERVICE_UNKNOWN\")")),
        ("default", failure("service unhealthy (responded with \"UNKNOWN\")")),
        ("strange", failure("service unhealthy (responded with \"9\")")),
        ("unimplemented", unimplemented("no such method")),
        ("late", failure("timeout: health rpc did not complete within 30s")),
        ("missing", rpc("NotFound desc = unknown service")),
        ("odd", rpc("Unknown desc = ")),
        ("trailers", rpc("Unavailable desc = shutting down")),
        ("http", rpc("Unavailable desc = unexpected HTTP status code received from server: 503")),
        ("elsewhere", unimplemented("unexpected HTTP status code received from server: 404")),
        ("nonsense", rpc("Internal desc = malformed answer")),
        ("large", rpc("Internal desc = malformed answer")),
        (
            "reset",
            rpc("Unavailable desc = connection error: stream terminated by RST_STREAM: REFUSED_STREAM"),
        ),
    ];
    for (service, expected) in cases {
        assert_eq!(probe(port, service, LONG), expected, "{service}");
    }
}

#[test]
fn an_answer_that_never_comes_is_a_failure_in_time() {
    let runtime = runtime();
    let stuck = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let stuck_port = stuck.local_addr().expect("it is bound").port();
    for (port, service) in [(health(&runtime).port(), "silence"), (stuck_port, "")] {
        let outcome = loop {
            match probe(port, service, SHORT) {
                // A busy machine had no turn for so long: once more.
                Outcome::Failure(text) if text.starts_with("timeout: failed to connect service") => {}
                outcome => break outcome,
            }
        };
        assert_eq!(outcome, failure("timeout: health rpc did not complete within 0.3s"), "{service}");
    }
}

#[test]
fn a_server_that_doesnt_speak_http2_or_hangs_up_is_a_failure() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a client connects");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
        drop(server.accept());
    });
    for expected in
        ["error: health rpc probe failed: rpc error: code = Unavailable desc = connection error: "; 2]
    {
        let outcome = probe(port, "", LONG);
        assert!(matches!(&outcome, Outcome::Failure(text) if text.starts_with(expected)), "{outcome:?}");
    }
    serving.join().expect("it ends");
}

#[test]
fn no_one_at_the_port_is_a_failure() {
    let port = CLOSED_PORT;
    let expected = format!(
        "error: failed to connect service at \"127.0.0.1:{port}\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    assert_eq!(probe(port, "", LONG), failure(&expected));
    let expected = format!(
        "timeout: failed to connect service \"127.0.0.1:{port}\" within 0s: context deadline exceeded"
    );
    assert_eq!(probe(port, "", Duration::ZERO), failure(&expected));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let check = |port, service: Option<String>| {
        Grpc::check_parameters(&Parameters { port, service }, &()).map_err(|error| error.to_string())
    };
    assert_eq!(check(1, None), Ok(()));
    assert_eq!(check(1, Some("x".repeat(SERVICE_BYTES_MAX))), Ok(()));
    assert_eq!(check(0, None), Err("port: must be 1 to 65535".to_owned()));
    assert_eq!(
        check(1, Some("x".repeat(SERVICE_BYTES_MAX + 1))),
        Err("service: more than 8192 bytes".to_owned())
    );
}

//! Heads of requests for streams, and the bytes of the streams that follow: `host/server`.
//!
//! The server reads no frames of SPDY or WebSockets: what follows an upgrade is carried as it comes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, Request, Response, header};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use witlet_server::kubelet::route::Route;
use witlet_server::kubelet::{streams, upgrade};

use crate::{Target, check_message, pieces};

pub(crate) const TARGET: Target = Target {
    name: "upgrades",
    run,
    words: &[
        "GET /exec/default/web/main?command=sh&input=1&output=1&tty=1 HTTP/1.1\r\n",
        "POST /portForward/default/web HTTP/1.1\r\n",
        "/attach/default/web/uid/main",
        "/containerLogs/default/web/main",
        "Host: a\r\n",
        "Connection: Upgrade\r\n",
        "Upgrade: SPDY/3.1\r\n",
        "Upgrade: websocket\r\n",
        "Sec-WebSocket-Version: 13\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n",
        "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n",
        "Authorization: Bearer a\r\n",
        "Content-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\n",
        "\r\n\r\n",
        "port=80",
        "port=80,443&",
        "port=",
        "stdin=true",
        "error=1",
        "\u{80}\x03\0\x01",
        "\u{82}\u{fe}",
        "HTTP/1.0",
        "://:1234/",
        "http://[::]:1/a",
        "%2f",
    ],
};

/// Bytes of a head; as for clients without a certificate.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Nothing takes as long.
const TIMEOUT: Duration = Duration::from_secs(60);

fn run(data: &[u8]) {
    url(data);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let done = runtime.block_on(async { tokio::time::timeout(TIMEOUT, both(data)).await });
    assert!(done.is_ok(), "it hangs");
}

async fn both(data: &[u8]) {
    let whole = answers(data, false).await;
    // Whether a request that follows an unread body is read depends on when that body came; the others don't.
    let cut = answers(data, true).await;
    assert_eq!(whole.first(), cut.first(), "where pieces end changes nothing");
    assert!(whole.iter().zip(&cut).all(|(whole, cut)| whole == cut), "{whole:?} {cut:?}");
    carried(data).await;
}

/// What the server makes of the bytes as requests.
async fn answers(data: &[u8], cut: bool) -> Vec<String> {
    let (mut client, server) = duplex(64 * 1024);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tell = seen.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        tell.lock().unwrap_or_else(PoisonError::into_inner).push(head(&request));
        async { Ok::<_, std::convert::Infallible>(Response::new(Empty::<Bytes>::new())) }
    });
    let serving = async {
        // Bytes that are no request end the connection with an error.
        let _ = http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(server), service)
            .await;
    };
    let asking = async {
        if cut {
            for piece in pieces(data) {
                if client.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        } else {
            let _ = client.write_all(data).await;
        }
        let _ = client.shutdown().await;
        let mut answers = Vec::new();
        let _ = client.read_to_end(&mut answers).await;
    };
    tokio::join!(serving, asking);
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.clone()
}

/// What a head asks for.
fn head(request: &Request<Incoming>) -> String {
    let route = Route::of(request.uri().path());
    if let Some(
        Route::Exec(target) | Route::Attach(target) | Route::Run(target) | Route::ContainerLogs(target),
    ) = &route
    {
        assert!(!target.namespace.is_empty() && !target.pod.is_empty() && !target.container.is_empty());
        assert!(target.uid != Some(""));
    }
    let query: Vec<(String, String)> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect();
    let options = streams::options(&query);
    if let Ok(options) = &options {
        assert!(!(options.tty && options.stderr), "a terminal has one way out");
    }
    let ports = streams::ports(request.headers(), &query);
    match &ports {
        Ok(ports) => assert!(ports.len() <= 128 && !ports.contains(&0), "{ports:?}"),
        // A value is returned to its sender, as upstream does; a head has a bound.
        Err(words) => check_message(words, 8 * request.uri().query().map_or(0, str::len)),
    }
    let passed = upgrade::passed_on(request.headers());
    const NOT_PASSED: [HeaderName; 4] =
        [header::AUTHORIZATION, header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    assert!(NOT_PASSED.iter().all(|name| !passed.contains_key(name)), "{passed:?}");
    let asks = upgrade::asks_for_upgrade(request.headers());
    assert!(!asks || passed.contains_key(header::UPGRADE) && passed.contains_key(header::CONNECTION));
    format!("{} {route:?} {options:?} {ports:?} {asks} {passed:?}", request.method())
}

/// The runtime's word for where a stream is; its path is secret.
fn url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines().take(8) {
        for url in
            [line.to_owned(), format!("http://127.0.0.1:1/{line}"), format!("http://{line}/exec/sEcReT")]
        {
            let origin = upgrade::origin(&url);
            match upgrade::place(&url) {
                Ok((host, _, path)) => assert!(
                    !host.is_empty() && !host.contains(['/', '@', '[']) && path.path().starts_with('/'),
                    "{url:?}: {host:?} {path}"
                ),
                Err(error) => {
                    check_message(&error.to_string(), origin.len());
                    let leaks = url.ends_with("/exec/sEcReT")
                        && !line.contains("sEcReT")
                        && error.to_string().contains("sEcReT");
                    assert!(!leaks, "{url:?}: {error}");
                }
            }
        }
    }
}

/// What one side sends, the other gets, and so does each of them learn of the end.
async fn carried(data: &[u8]) {
    let (there, back) = data.split_at(data.len() / 2);
    let ((mut left, inner_left), (mut right, inner_right)) = (duplex(16), duplex(16));
    let side = async |ours: &mut tokio::io::DuplexStream, sends: &[u8]| {
        let (mut read, mut write) = tokio::io::split(ours);
        let sending = async {
            for piece in pieces(sends) {
                write.write_all(piece).await.expect("it is taken");
            }
            write.shutdown().await.expect("an end");
        };
        let mut got = Vec::new();
        let (_, read) = tokio::join!(sending, read.read_to_end(&mut got));
        read.expect("an end");
        got
    };
    let carrying = upgrade::both_ways(inner_left, inner_right, Duration::from_hours(1));
    let (_, from_right, from_left) = tokio::join!(carrying, side(&mut left, there), side(&mut right, back));
    assert_eq!((from_left.as_slice(), from_right.as_slice()), (there, back));
}

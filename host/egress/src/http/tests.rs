//! Requests to servers on loopback, bad ones among them.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HOST};
use http::{Method, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio_rustls::rustls::ALL_VERSIONS;
use tokio_stream::wrappers::ReceiverStream;

use super::*;
use crate::testing::{
    AllHere, Authority, ClosedPort, Identity, LIMIT, RequestLog, Server, ServerKinds, answer, ends, outlasts,
    read_head,
};
use crate::{LookupError, NetworkGrant};

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap_or_else(|error| panic!("{uri}: {error}"))
}

fn here(server: &Server) -> String {
    format!("http://{}/", server.address)
}

/// Sends from this node, by its own resolver.
async fn from_here<B>(
    reach: &Reach,
    tls: TlsPolicy,
    request: Request<B>,
    limits: SendLimits,
) -> Result<Response<ResponseBody>, SendError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    ends(Egress::system().send(reach, tls, request, limits)).await
}

async fn send(uri: &str) -> Result<Response<ResponseBody>, SendError> {
    from_here(&Reach::everything(), TlsPolicy::Insecure, get(uri), SendLimits::each(LIMIT)).await
}

async fn text(response: Response<ResponseBody>) -> String {
    let body = ends(response.into_body().collect()).await.expect("it has an end").to_bytes();
    String::from_utf8(body.to_vec()).expect("our answers are text")
}

/// Reads the head, says this, and does nothing more. Notified when it has said it.
async fn says(head: &'static str) -> (Server, Arc<Notify>) {
    let said = Arc::new(Notify::new());
    let notified = said.clone();
    let server = Server::new(move |mut stream| {
        let said = notified.clone();
        async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(head.as_bytes()).await;
            said.notify_one();
            std::future::pending().await
        }
    })
    .await;
    (server, said)
}

#[tokio::test]
async fn the_request_is_sent_as_it_was_made() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        answer("201 Created", &["X-B: 3"], "body")
    })
    .await;
    let request = Request::builder()
        .method(Method::DELETE)
        .uri(format!("http://user@{}/a%20b?c=d", server.address))
        .header("x-a", "1")
        .header("X-A", "2")
        .header("te", "trailers")
        .body(Empty::<Bytes>::new())
        .expect("it is a request");
    let limits = SendLimits::each(LIMIT);
    let sent = from_here(&Reach::everything(), TlsPolicy::Verify, request, limits).await;
    let response = sent.expect("it answers");
    assert_eq!((response.status(), &response.headers()["x-b"]), (StatusCode::CREATED, &"3".parse().unwrap()));
    assert_eq!(text(response).await, "body");
    let expected = format!(
        "DELETE /a%20b?c=d HTTP/1.1\r\nHost: {}\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n",
        server.address
    );
    assert_eq!(seen.all(), [expected]);
}

#[tokio::test]
async fn the_connection_goes_to_the_authority_whatever_host_says() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        answer("200 OK", &[], "here")
    })
    .await;
    let grant: NetworkGrant = server.address.to_string().parse().expect("an address with its port");
    let reach = Reach::new([grant], &[], None);
    let mut request = get(&here(&server));
    request.headers_mut().insert(HOST, "elsewhere.example".parse().expect("a value"));
    let sent = from_here(&reach, TlsPolicy::Verify, request, SendLimits::each(LIMIT)).await;
    assert_eq!(text(sent.expect("it is granted")).await, "here");
    assert!(seen.all()[0].contains("\r\nHost: elsewhere.example\r\n"), "{seen:?}");
}

#[tokio::test]
async fn what_isnt_granted_isnt_connected_to() {
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        answer("200 OK", &[], "")
    })
    .await;
    let port = server.port();
    let egress = Egress::system().with_resolver(Arc::new(AllHere));
    let grants: Vec<NetworkGrant> =
        ["*.example:1-65535", "pod", "probe-host", "10.0.0.0/8"].map(|text| text.parse().expect(text)).into();
    let reach = Reach::new(grants, &["10.0.0.7".parse().expect("an address")], Some("169.254.169.254"));
    let hosts = [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "[::]",
        "localhost",
        "127.1",
        "2130706433",
        "other.test",
    ];
    for host in hosts {
        let request = get(&format!("http://{host}:{port}/"));
        let sent = ends(egress.send(&reach, TlsPolicy::Insecure, request, SendLimits::each(LIMIT))).await;
        assert!(matches!(sent, Err(SendError::Connect(ConnectError::Denied { .. }))), "{host}");
    }
    // A granted name that leads to this host.
    let request = get(&format!("http://a.example:{port}/"));
    let sent = ends(egress.send(&reach, TlsPolicy::Insecure, request, SendLimits::each(LIMIT))).await;
    let denied = Err::<(), _>(LookupError::AddressesDenied { name: "a.example".to_owned() });
    match sent {
        Err(SendError::Connect(ConnectError::Lookup(error))) => assert_eq!(Err(error), denied),
        other => panic!("{:?}", other.map(|response| response.status())),
    }
    // The host that the probe names, where clouds give away credentials.
    let request = get("http://169.254.169.254/latest/meta-data/");
    let sent = ends(egress.send(&reach, TlsPolicy::Insecure, request, SendLimits::each(LIMIT))).await;
    assert!(matches!(sent, Err(SendError::Connect(ConnectError::Denied { .. }))));
    assert!(seen.all().is_empty());
}

#[tokio::test]
async fn redirects_arent_followed() {
    let server = Server::http(|_| answer("302 Found", &["Location: /again"], "moved")).await;
    let response = send(&here(&server)).await.expect("it answers");
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(response.headers()["location"], "/again");
    assert_eq!(text(response).await, "moved");
}

#[tokio::test]
async fn a_body_is_sent_and_an_answer_streamed() {
    let echo = Server::new(|mut stream| async move {
        let head = read_head(&mut stream).await;
        let chunked = head.contains("Transfer-Encoding: chunked");
        let mut body = Vec::new();
        while !body.ends_with(if chunked { b"0\r\n\r\n" } else { b"end" }) {
            body.push(stream.read_u8().await.expect("the body goes on"));
        }
        let body = if chunked { "chunks".to_owned() } else { String::from_utf8(body).expect("text") };
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        for part in [body.as_str(), " and ", "more"] {
            let _ = stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).await;
        }
        let _ = stream.write_all(b"0\r\n\r\n").await;
    })
    .await;
    let (egress, reach, limits) = (Egress::system(), Reach::everything(), SendLimits::each(LIMIT));
    let request = Request::post(here(&echo)).body(Full::new(Bytes::from_static(b"to the end"))).expect("one");
    let response = ends(egress.send(&reach, TlsPolicy::Verify, request, limits)).await.expect("it answers");
    assert_eq!(text(response).await, "to the end and more");

    let parts = [Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"part")))];
    let request =
        Request::post(here(&echo)).body(StreamBody::new(futures::stream::iter(parts))).expect("one");
    let response = ends(egress.send(&reach, TlsPolicy::Verify, request, limits)).await.expect("it answers");
    assert_eq!(text(response).await, "chunks and more");
}

#[tokio::test]
async fn a_request_body_that_breaks_off_is_an_error() {
    let server = Server::new(|mut stream| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let parts =
        [Ok(Frame::data(Bytes::from_static(b"part"))), Err(std::io::Error::other("the guest is gone"))];
    let request =
        Request::post(here(&server)).body(StreamBody::new(futures::stream::iter(parts))).expect("one");
    let (egress, reach) = (Egress::system(), Reach::everything());
    let sent = ends(egress.send(&reach, TlsPolicy::Verify, request, SendLimits::each(LIMIT))).await;
    assert!(matches!(sent, Err(SendError::RequestBody { .. })), "{:?}", sent.err());
}

#[tokio::test]
async fn a_server_that_misbehaves_has_its_own_error() {
    let closed = ClosedPort::new();
    let refused = format!("http://127.0.0.1:{}/", closed.port());
    let resets = Server::new(|stream| async move { stream.set_zero_linger().expect("it is a socket") }).await;
    let closes = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
    })
    .await;
    let (nonsense, _) = says("220 smtp.example.org ESMTP\r\n\r\n").await;
    let huge = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while stream.write_all(&[b'y'; 1024]).await.is_ok() {}
    })
    .await;
    let many = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a:b\r\n".repeat(HEADERS_MAX + 1));
        let _ = stream.write_all(head.as_bytes()).await;
        std::future::pending().await
    })
    .await;
    type Expected = fn(&SendError) -> bool;
    let cases: [(&str, String, Expected); 6] = [
        (
            "refused",
            refused,
            |error| matches!(error, SendError::Connect(ConnectError::Failed { cause, .. }) if cause.kind() == std::io::ErrorKind::ConnectionRefused),
        ),
        ("resets", here(&resets), |error| matches!(error, SendError::Closed { .. })),
        ("closes", here(&closes), |error| matches!(error, SendError::Closed { .. })),
        ("nonsense", here(&nonsense), |error| matches!(error, SendError::Protocol { .. })),
        ("a huge header", here(&huge), |error| matches!(error, SendError::HeadersTooLarge)),
        ("many headers", here(&many), |error| matches!(error, SendError::HeadersTooLarge)),
    ];
    for (what, uri, expected) in cases {
        let error = send(&uri).await.err().unwrap_or_else(|| panic!("{what} isn't an answer"));
        assert!(expected(&error), "{what}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_never_ends_its_head_times_out() {
    for head in ["", "HTTP/1.1 200 OK\r\nx: y"] {
        let (server, said) = says(head).await;
        let sent = outlasts(send(&here(&server)), &said).await;
        assert!(matches!(sent, Err(SendError::FirstByteTimeout)), "{head:?}: {:?}", sent.err());
    }
}

#[tokio::test]
async fn headers_may_be_nearly_as_large_as_the_limit() {
    let head =
        |bytes: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: {}\r\n\r\n", "y".repeat(bytes));
    let (small, large) = (head(HEADER_BYTES_MAX - 1024), head(2 * HEADER_BYTES_MAX));
    let small = Server::http(move |_| small.clone()).await;
    let response = send(&here(&small)).await.expect("it fits");
    assert_eq!(response.headers()["x"].len(), HEADER_BYTES_MAX - 1024);
    let large = Server::http(move |_| large.clone()).await;
    assert!(matches!(send(&here(&large)).await, Err(SendError::HeadersTooLarge)));
}

#[tokio::test]
async fn preliminary_answers_without_end_are_no_answer() {
    let begun = Arc::new(Notify::new());
    let notified = begun.clone();
    let server = Server::new(move |mut stream| {
        let begun = notified.clone();
        async move {
            read_head(&mut stream).await;
            while stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n").await.is_ok() {
                begun.notify_one();
            }
        }
    })
    .await;
    let sent = outlasts(send(&here(&server)), &begun).await;
    assert!(matches!(sent, Err(SendError::FirstByteTimeout)));
}

#[tokio::test]
async fn tls_that_fails_says_how() {
    let plain = Server::new(|mut stream| async move {
        let _ = stream.read(&mut [0; 64]).await;
        let _ = stream.write_all(answer("400 Bad Request", &[], "speak HTTP").as_bytes()).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let error = send(&format!("https://{}/", plain.address)).await.err().expect("it has no TLS");
    assert_eq!(error.to_string(), "http: server gave HTTP response to HTTPS client");

    let (stuck, asked) = Server::receives_and_says_nothing().await;
    let sent = outlasts(send(&format!("https://{}/", stuck.address)), &asked).await;
    let error = sent.err().expect("it never shakes hands");
    assert_eq!(error.to_string(), format!("dial tcp {}: i/o timeout", stuck.address));
}

#[tokio::test]
async fn certificates_are_verified_unless_they_arent() {
    let authority = Authority::new();
    let valid = authority.server(&["a.example"], 2999, ALL_VERSIONS);
    let trusting = Egress::system()
        .with_resolver(Arc::new(AllHere))
        .with_authorities(authority.pem.as_bytes())
        .expect("it is one");
    let untrusted = Identity::untrusted();
    let ours = Server::tls(&valid, |_| answer("200 OK", &[], "ours")).await;
    let theirs = Server::tls(&untrusted, |_| answer("200 OK", &[], "theirs")).await;
    let cases = [
        ("a.example", &ours, TlsPolicy::Verify, Some("ours")),
        ("b.example", &ours, TlsPolicy::Verify, None),
        ("b.example", &ours, TlsPolicy::Insecure, Some("ours")),
        ("a.example", &theirs, TlsPolicy::Verify, None),
        ("a.example", &theirs, TlsPolicy::Insecure, Some("theirs")),
    ];
    for (host, server, policy, expected) in cases {
        let mut request = get(&format!("https://{host}:{}/", server.port()));
        // The name that counts is the authority's.
        request.headers_mut().insert(HOST, "a.example".parse().expect("a value"));
        let sent = ends(trusting.send(&Reach::everything(), policy, request, SendLimits::each(LIMIT))).await;
        match (sent, expected) {
            (Ok(response), Some(expected)) => assert_eq!(text(response).await, expected),
            (Err(SendError::Tls(TlsError::Certificate { .. })), None) => {}
            (sent, _) => panic!("{host} {policy:?}: {:?}", sent.map(|response| response.status())),
        }
    }
}

#[tokio::test]
async fn a_body_that_dawdles_or_breaks_off_is_an_error() {
    let (slow, said) = says("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
    let mut body = send(&here(&slow)).await.expect("it answers").into_body();
    let first = ends(body.frame()).await.expect("a part").expect("a good one");
    assert_eq!(first.into_data().expect("data"), "x");
    assert!(matches!(outlasts(body.frame(), &said).await, Some(Err(BodyError::Timeout))));

    let broken = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
    })
    .await;
    let collected = ends(send(&here(&broken)).await.expect("it answers").into_body().collect()).await;
    assert!(matches!(collected, Err(BodyError::Closed { .. })));

    let (bad, _) = says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n").await;
    let collected = ends(send(&here(&bad)).await.expect("it answers").into_body().collect()).await;
    assert!(collected.is_err());
}

/// A server that tells when its connection was closed by the other side, and notifies when it was asked.
async fn watching(head: &'static str) -> (Server, mpsc::Receiver<()>, Arc<Notify>) {
    let (closed, seen) = mpsc::channel(1);
    let asked = Arc::new(Notify::new());
    let notified = asked.clone();
    let server = Server::new(move |mut stream: TcpStream| {
        let (closed, asked) = (closed.clone(), notified.clone());
        async move {
            read_head(&mut stream).await;
            asked.notify_one();
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.read(&mut [0; 1]).await;
            let _ = closed.send(()).await;
        }
    })
    .await;
    (server, seen, asked)
}

#[tokio::test]
async fn a_connection_ends_with_its_caller() {
    // Half-read.
    let (server, mut closed, _) = watching("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx").await;
    let mut response = send(&here(&server)).await.expect("it answers");
    ends(response.body_mut().frame()).await.expect("a part").expect("a good one");
    assert!(closed.try_recv().is_err(), "it is being read");
    drop(response);
    ends(closed.recv()).await.expect("the server notices");

    // Given up before the answer.
    let (server, mut closed, asked) = watching("").await;
    let uri = here(&server);
    tokio::select! {
        sent = send(&uri) => panic!("it never answers: {:?}", sent.err()),
        () = asked.notified() => {}
    }
    ends(closed.recv()).await.expect("the server notices");

    // Whole.
    let (server, mut closed, _) = watching("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx").await;
    assert_eq!(text(send(&here(&server)).await.expect("it answers")).await, "x");
    ends(closed.recv()).await.expect("the server notices");
}

#[tokio::test]
async fn an_answer_without_a_body_has_none() {
    for head in ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"] {
        let (server, _) = says(head).await;
        assert_eq!(text(send(&here(&server)).await.expect("it answers")).await, "");
    }
    let (server, _) = says("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await;
    let request = Request::head(here(&server)).body(Empty::<Bytes>::new()).expect("it is one");
    let sent = from_here(&Reach::everything(), TlsPolicy::Verify, request, SendLimits::each(LIMIT)).await;
    let response = sent.expect("it answers");
    assert_eq!(response.headers()[CONTENT_LENGTH], "1000");
    assert_eq!(text(response).await, "");
}

#[tokio::test]
async fn many_waiting_requests_hold_up_no_other() {
    let stuck = Server::stuck().await;
    let good = Server::http(|_| answer("200 OK", &[], "fine")).await;
    let uri = here(&stuck);
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let request = get(&uri);
        let limits = SendLimits::each(Duration::from_hours(1));
        waiting.spawn(async move {
            let (egress, reach) = (Egress::system(), Reach::everything());
            egress.send(&reach, TlsPolicy::Verify, request, limits).await.is_ok()
        });
    }
    for _ in 0..20 {
        assert_eq!(text(send(&here(&good)).await.expect("it answers")).await, "fine");
    }
    assert!(waiting.try_join_next().is_none(), "they wait still");
}

#[tokio::test]
async fn a_request_with_a_streamed_body_waits_for_it() {
    let server = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let mut body = Vec::new();
        while !body.ends_with(b"0\r\n\r\n") {
            body.push(stream.read_u8().await.expect("the body goes on"));
        }
        let _ = stream.write_all(answer("200 OK", &[], "all of it").as_bytes()).await;
    })
    .await;
    let (parts, receiver) = mpsc::channel::<Result<Frame<Bytes>, std::io::Error>>(1);
    let body = StreamBody::new(ReceiverStream::new(receiver));
    let request = Request::post(here(&server)).body(body).expect("it is one");
    let (egress, reach) = (Egress::system(), Reach::everything());
    let sending = egress.send(&reach, TlsPolicy::Verify, request, SendLimits::each(LIMIT));
    let writing = async move {
        for _ in 0..3 {
            parts.send(Ok(Frame::data(Bytes::from_static(b"part")))).await.expect("it is read");
        }
    };
    let (response, ()) = ends(futures::future::join(sending, writing)).await;
    assert_eq!(text(response.expect("it answers")).await, "all of it");
}

//! For tests: an authority that signs certificates, and a TLS server that notes who comes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::client::Body;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DistinguishedName,
    DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Days as `(year, month, day)`.
pub(crate) type Day = (i32, u8, u8);
/// Around every clock of these tests, and the real one.
pub(crate) const ALWAYS: (Day, Day) = ((2020, 1, 1), (2090, 1, 1));

/// Bound of a wait for something that has to happen: only a hang reaches it.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits for what has to happen.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, what).await.expect("it happens soon")
}

/// Does work with real programs or sockets while time stands still: the work is polled without a pause, so that tokio's clock, which
/// goes on by itself only when everything waits, never does.
pub(crate) async fn in_no_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let busy = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::select! {
        biased;
        done = work => done,
        () = busy => unreachable!("it never ends"),
    };
    tokio::time::resume();
    done
}

/// Signs certificates.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

fn named(name: &str, (from, to): (Day, Day)) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(from.0, from.1, from.2);
    params.not_after = date_time_ymd(to.0, to.1, to.2);
    params
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = named("test authority", ALWAYS);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("an authority") }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// PEM of a certificate of this name, and of its key.
    pub(crate) fn issue(&self, name: &str, days: (Day, Day)) -> (String, String) {
        let mut params = named(name, days);
        params.subject_alt_names.push(rcgen::SanType::IpAddress([127, 0, 0, 1].into()));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// Signs a request as it asks.
    pub(crate) fn sign(&self, request: &[u8], (from, to): (Day, Day)) -> String {
        let text = std::str::from_utf8(request).expect("PEM is text");
        let mut request = CertificateSigningRequestParams::from_pem(text).expect("a request");
        request.params.not_before = date_time_ymd(from.0, from.1, from.2);
        request.params.not_after = date_time_ymd(to.0, to.1, to.2);
        request.signed_by(&self.issuer).expect("a certificate").pem()
    }
}

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedRequest {
    /// Counted from 0.
    pub(crate) connection: usize,
    /// Common name of the client's certificate.
    pub(crate) client: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) http2: bool,
    pub(crate) path: String,
    pub(crate) traceparent: Option<String>,
}

/// What the server answers next: a status, and a `Retry-After`.
pub(crate) type Canned = (u16, Option<&'static str>);

#[derive(Default)]
struct State {
    seen: Mutex<Vec<ReceivedRequest>>,
    canned: Mutex<VecDeque<Canned>>,
    connections: AtomicUsize,
    frozen: AtomicBool,
}

/// Answers `{}`, and watches with a stream that stays open.
pub(crate) struct TestServer {
    pub(crate) authority: Authority,
    pub(crate) url: String,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    /// Speaks HTTP/2 if `http2`, with at most `streams` at once, and HTTP/1.1 otherwise. Client certificates are taken,
    /// and not asked for.
    pub(crate) async fn start(http2: bool, streams: u32) -> Self {
        let authority = Authority::new();
        let acceptor = TlsAcceptor::from(Arc::new(tls(&authority, http2)));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let mut tasks = JoinSet::new();
        let shared = state.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                connections.spawn(serve(tcp, acceptor.clone(), shared.clone(), streams));
            }
        });
        Self { authority, url: format!("https://127.0.0.1:{port}"), state, _tasks: tasks }
    }

    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        self.state.seen.lock().expect("no panic").clone()
    }

    pub(crate) fn last(&self) -> ReceivedRequest {
        self.seen().pop().expect("a request was seen")
    }

    pub(crate) fn answer(&self, canned: &[Canned]) {
        self.state.canned.lock().expect("no panic").extend(canned);
    }

    /// From now on nothing is read: what a dead peer looks like.
    pub(crate) fn freeze(&self) {
        self.state.frozen.store(true, Ordering::SeqCst);
    }
}

/// A server's side, with a certificate for 127.0.0.1.
pub(crate) fn tls(authority: &Authority, http2: bool) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("PEM")).expect("a root");
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .expect("a verifier");
    let (chain, key) = authority.issue("server", ALWAYS);
    let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .expect("a server certificate");
    config.alpn_protocols = if http2 { vec![b"h2".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    config
}

fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    parsed.subject().iter_common_name().next()?.as_str().ok().map(str::to_owned)
}

async fn serve(tcp: TcpStream, acceptor: TlsAcceptor, state: Arc<State>, streams: u32) {
    let tcp = Freezing { tcp, state: state.clone() };
    let Ok(tls) = acceptor.accept(tcp).await else { return };
    let connection = state.connections.fetch_add(1, Ordering::SeqCst);
    let session = tls.get_ref().1;
    let client = session.peer_certificates().and_then(|chain| common_name(chain.first()?));
    let http2 = session.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        let (state, client) = (state.clone(), client.clone());
        async move {
            let value =
                |name| request.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
            let (authorization, traceparent) = (value("authorization"), value("traceparent"));
            let path = request.uri().path_and_query().expect("a path").as_str().to_owned();
            let watch = path.contains("watch=true");
            let seen = ReceivedRequest { connection, client, authorization, http2, path, traceparent };
            state.seen.lock().expect("no panic").push(seen);
            let canned = state.canned.lock().expect("no panic").pop_front();
            Ok::<_, io::Error>(answer(canned, watch))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(streams);
    // However it ends, the connection is over.
    let _ = builder.serve_connection(TokioIo::new(tls), service).await;
}

fn answer(canned: Option<Canned>, watch: bool) -> Response<UnsyncBoxBody<Bytes, io::Error>> {
    let (status, retry_after) = canned.unwrap_or((200, None));
    let body = if watch {
        let open = futures::stream::pending::<Result<Frame<Bytes>, io::Error>>();
        http_body_util::StreamBody::new(open).boxed_unsync()
    } else {
        let text = if status == 200 { "{}" } else { "" };
        http_body_util::Full::new(Bytes::from_static(text.as_bytes()))
            .map_err(|never| match never {})
            .boxed_unsync()
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.parse().expect("a header"));
    }
    response
}

struct Freezing {
    tcp: TcpStream,
    state: Arc<State>,
}

impl AsyncRead for Freezing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.state.frozen.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Freezing {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// A request to this path.
pub(crate) fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).expect("a request")
}

/// Makes a program. Another process writes it: had this one it open, a child that a test next to this one starts at that
/// moment would hold it open as well, and it couldn't be run.
pub(crate) fn put_program(path: &std::path::Path, text: &str) {
    let write = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .arg(text)
        .status();
    assert!(write.expect("there is a shell").success(), "the test's folder is writable");
}

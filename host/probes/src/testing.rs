//! Servers on loopback that do as a test says, bad ones among them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::{default_provider, sign::any_ecdsa_type};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// How long a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A timeout that nothing good takes, on the slowest machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// A timeout that something bad is to outlast.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// What has to end, whatever the server does.
pub(crate) async fn ends<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it ends long before")
}

/// A server that ends with the test.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    _tasks: JoinSet<Infallible>,
}

impl Server {
    /// Serves each connection so. All at the same time.
    pub(crate) async fn new<F, W>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
        let addr = listener.local_addr().expect("it is bound");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("it listens");
                connections.spawn(serve(stream));
            }
        });
        Self { addr, _tasks: tasks }
    }

    /// Takes connections and says nothing, ever.
    pub(crate) async fn stuck() -> Self {
        Self::new(|stream| async move {
            let _open = stream;
            std::future::pending().await
        })
        .await
    }

    /// Answers each HTTP request, given its head, with these bytes; then closes.
    pub(crate) async fn http(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::new(move |stream| answer_http(stream, answer.clone())).await
    }

    /// The same over TLS, with a certificate that isn't one.
    pub(crate) async fn https(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let acceptor = acceptor();
        Self::new(move |stream| {
            let (acceptor, answer) = (acceptor.clone(), answer.clone());
            async move {
                if let Ok(tls) = acceptor.accept(stream).await {
                    answer_http(tls, answer).await;
                }
            }
        })
        .await
    }

    pub(crate) fn host(&self) -> String {
        self.addr.ip().to_string()
    }

    pub(crate) fn port(&self) -> u16 {
        self.addr.port()
    }
}

/// A port on which nobody listens.
pub(crate) async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
    listener.local_addr().expect("it is bound").port()
}

/// Heads of requests, as a server saw them.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn add(&self, head: &str) {
        self.0.lock().unwrap().push(head.to_owned());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// An answer with this status line and body.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// Reads the head of a request; empty if the other side closes before its end.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return String::new(),
        }
    }
    String::from_utf8(head).expect("our requests are text")
}

async fn answer_http<S, A>(mut stream: S, answer: Arc<A>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(&str) -> String,
{
    let head = read_head(&mut stream).await;
    if !head.is_empty() {
        // The client may have gone once it had what it wanted.
        let _ = stream.write_all(answer(&head).as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

#[derive(Debug)]
struct OneKey(Arc<CertifiedKey>);

impl ResolvesServerCert for OneKey {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn acceptor() -> TlsAcceptor {
    let random = ring::rand::SystemRandom::new();
    let algorithm = &ring::signature::ECDSA_P256_SHA256_ASN1_SIGNING;
    let key = ring::signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("there is randomness");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.as_ref().to_vec()));
    let key = any_ecdsa_type(&key).expect("it is such a key");
    let certificate = CertificateDer::from(b"not a certificate".to_vec());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for both versions of TLS")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(OneKey(Arc::new(CertifiedKey::new(vec![certificate], key)))));
    TlsAcceptor::from(Arc::new(config))
}

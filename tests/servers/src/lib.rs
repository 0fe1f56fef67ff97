//! Servers on loopback that do as a test says, bad ones among them, and what a metrics server makes of a node. For tests alone: they
//! panic where a test would fail.
#![forbid(unsafe_code)]

pub mod metrics_server;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// A server that ends with the test.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    _tasks: JoinSet<Infallible>,
}

impl Server {
    /// Serves each connection so. All at the same time.
    pub async fn new<F, W>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("it listens");
                connections.spawn(serve(stream));
            }
        });
        Self { address, _tasks: tasks }
    }

    /// Takes connections and says nothing, ever.
    pub async fn stuck() -> Self {
        Self::new(|stream| async move {
            let _open = stream;
            std::future::pending().await
        })
        .await
    }

    /// Answers each HTTP request, given its head, with these bytes; then closes.
    pub async fn http(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::new(move |stream| answer_http(stream, answer.clone())).await
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// A port on which nothing listens while this lives: it is taken.
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Takes one.
    #[allow(clippy::new_without_default, reason = "it takes a port of the machine")]
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback has a port");
        Self(socket)
    }

    /// Its number.
    pub fn port(&self) -> u16 {
        self.0.local_addr().expect("it is bound").port()
    }
}

/// Heads of requests, as a server saw them.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<Vec<String>>>);

impl RequestLog {
    /// One more.
    pub fn add(&self, head: &str) {
        self.0.lock().expect("no test panics while it holds this").push(head.to_owned());
    }

    /// All so far, the oldest first.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().expect("no test panics while it holds this").clone()
    }
}

/// An answer with this status line and body.
pub fn answer(status: &str, headers: &[&str], body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// Reads the head of a request; empty if the other side closes before its end.
pub async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return String::new(),
        }
    }
    String::from_utf8(head).expect("our requests are text")
}

/// Answers one HTTP request so, if it comes whole.
pub async fn answer_http<S, A>(mut stream: S, answer: Arc<A>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(&str) -> String,
{
    let head = read_head(&mut stream).await;
    if !head.is_empty() {
        // The client may have gone once it had what it needed.
        let _ = stream.write_all(answer(&head).as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

//! Connections to the API server: how many there are, and which request goes over which.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri, Version, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::client::Body;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use witlet_core::network::host_port;

use super::dial::{self, PING_AFTER, PING_MAX, Stream};
use super::identity::Identities;
use super::proxy::Proxy;

/// How long a connection may take, TLS included.
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// Streams on one HTTP/2 connection. API servers allow 100 or more; ones that allow fewer are heeded.
const STREAMS_MAX: usize = 80;
/// HTTP/2 connections of one kind that are kept, at most.
const LINES_MAX: usize = 64;
/// The same of watches: enough for one of each object that pods may use, and for the kinds that are watched as a whole.
const WATCH_LINES_MAX: usize = 256;
const _: () = assert!(WATCH_LINES_MAX * STREAMS_MAX >= crate::objects::OBJECTS_MAX + STREAMS_MAX);
/// HTTP/1.1 connections of one kind that are kept, at most: each has one request at a time.
const HTTP1_LINES_MAX: usize = 2048;

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum TransportError {
    #[error("failed to connect to {server}: {cause}")]
    Connect { server: String, cause: io::Error },
    #[error("connection to the API server failed: {0}")]
    Http(#[from] hyper::Error),
    /// Every connection is full.
    #[error("all {count} connections to the API server are in use")]
    Full {
        /// How many there are.
        count: usize,
    },
    /// The request makes no HTTP message.
    #[error("failed to send request: {0}")]
    Request(#[from] http::Error),
}

/// Watches have connections of their own, so that nothing waits behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Watch,
    Ordinary,
}

/// Where the connections lead.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// TLS with the server of this name, or HTTP in the clear.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Who is asked for connections, if they aren't made directly.
    pub(crate) proxy: Option<Proxy>,
}

/// Where an HTTP/1.1 connection lies while no request is on it.
type Lying = Arc<Mutex<Option<http1::SendRequest<Body>>>>;

#[derive(Clone)]
enum Sender {
    /// With how many streams the server allows.
    Http2(http2::SendRequest<Body>, Arc<AtomicUsize>),
    /// For one request at a time.
    Http1(Lying),
}

/// A connection.
#[derive(Clone)]
struct Line {
    sender: Sender,
    kind: Kind,
    /// Cancelled when it is over, or shall be.
    over: CancellationToken,
    streams: Arc<AtomicUsize>,
}

/// A request's place on a connection, until the end of its answer.
pub(crate) struct Slot {
    streams: Arc<AtomicUsize>,
    /// An HTTP/1.1 connection on its way back to where it lies.
    back: Option<(http1::SendRequest<Body>, Lying)>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((sender, place)) = self.back.take()
            && !sender.is_closed()
        {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        }
        self.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Line {
    /// A place on it, if there is one. The caller holds the lock of the lines, so that no one else takes it.
    fn take(&self, kind: Kind) -> Option<(PooledSender, Slot)> {
        if self.over.is_cancelled() || self.kind != kind {
            return None;
        }
        let used = self.streams.load(Ordering::Acquire);
        let (taken, most) = match &self.sender {
            Sender::Http2(sender, _) if sender.is_closed() => return None,
            Sender::Http2(sender, allowed) => {
                (PooledSender::Http2(sender.clone()), allowed.load(Ordering::Acquire).clamp(1, STREAMS_MAX))
            }
            Sender::Http1(place) => (PooledSender::Http1(place.clone()), 1),
        };
        if used >= most {
            return None;
        }
        self.streams.fetch_add(1, Ordering::AcqRel);
        Some((taken, Slot { streams: self.streams.clone(), back: None }))
    }

    fn is_over(&self) -> bool {
        self.over.is_cancelled()
            || match &self.sender {
                Sender::Http2(sender, _) => sender.is_closed(),
                // Without streams it must lie there; if it doesn't, it was closed.
                Sender::Http1(place) => {
                    let place = place.lock().unwrap_or_else(PoisonError::into_inner);
                    self.streams.load(Ordering::Acquire) == 0
                        && place.as_ref().is_none_or(http1::SendRequest::is_closed)
                }
            }
    }
}

enum PooledSender {
    Http2(http2::SendRequest<Body>),
    Http1(Lying),
}

/// What became of a request on one connection.
enum Sent {
    Response(Response<Reply>),
    /// The connection was over before the request left.
    Unsent(Request<Body>),
}

/// All connections to one server. When it is dropped, each ends with the last answer on it.
pub(crate) struct Transport {
    endpoint: Endpoint,
    identities: Arc<Identities>,
    lines: Mutex<Vec<Line>>,
    /// One connection is made at a time: who waits finds a place on the one before.
    connecting: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint, identities: Arc<Identities>) -> Self {
        Self {
            endpoint,
            identities,
            lines: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Sends a request whose URI is whole. A request that hadn't left when its connection ended goes over another one, once.
    pub(crate) async fn send(
        &self,
        request: Request<Body>,
        kind: Kind,
    ) -> Result<Response<Reply>, TransportError> {
        let (taken, slot) = self.place(kind).await?;
        match exchange(request, taken, slot).await? {
            Sent::Response(response) => Ok(response),
            Sent::Unsent(request) => {
                let (taken, slot) = self.place(kind).await?;
                match exchange(request, taken, slot).await? {
                    Sent::Response(response) => Ok(response),
                    Sent::Unsent(_) => Err(self.refused("connections end before a request is sent")),
                }
            }
        }
    }

    fn refused(&self, message: &str) -> TransportError {
        self.failed(io::Error::new(io::ErrorKind::ConnectionAborted, message))
    }

    fn failed(&self, cause: io::Error) -> TransportError {
        let server = host_port(&self.endpoint.host, self.endpoint.port);
        TransportError::Connect { server, cause }
    }

    /// A place on an open connection.
    fn open_place(&self, kind: Kind) -> Option<(PooledSender, Slot)> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| !line.is_over());
        lines.iter().find_map(|line| line.take(kind))
    }

    async fn place(&self, kind: Kind) -> Result<(PooledSender, Slot), TransportError> {
        if let Some(place) = self.open_place(kind) {
            return Ok(place);
        }
        let _one = self.connecting.lock().await;
        if let Some(place) = self.open_place(kind) {
            return Ok(place);
        }
        let line = self.connect(kind).await?;
        // No one else knows it yet, so that it has a place.
        let place = line.take(kind).ok_or_else(|| self.refused("the client certificate was replaced"))?;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let count = lines.iter().filter(|line| line.kind == kind).count();
        let most = match line.sender {
            Sender::Http2(..) if kind == Kind::Watch => WATCH_LINES_MAX,
            Sender::Http2(..) => LINES_MAX,
            Sender::Http1(_) => HTTP1_LINES_MAX,
        };
        if count >= most {
            return Err(TransportError::Full { count });
        }
        lines.push(line);
        Ok(place)
    }

    async fn connect(&self, kind: Kind) -> Result<Line, TransportError> {
        // Before the handshake: a certificate that is replaced during it ends this connection too.
        let over = self.identities.generation().child_token();
        let endpoint = &self.endpoint;
        let made = tokio::time::timeout(CONNECT_MAX, async {
            let tls = endpoint.tls.as_ref().map(|(config, _)| &**config);
            let stream = match &endpoint.proxy {
                None => Box::new(dial::tcp(&endpoint.host, endpoint.port).await?) as Box<dyn Stream>,
                Some(proxy) => proxy.connect(&endpoint.host, endpoint.port, tls).await?,
            };
            let Some((config, name)) = &endpoint.tls else { return Ok((stream, false)) };
            let tls = TlsConnector::from(config.clone()).connect(name.clone(), stream).await?;
            let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
            Ok((Box::new(tls) as Box<dyn Stream>, http2))
        });
        let made = made.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let (stream, http2) = made.map_err(|cause| self.failed(cause))?;
        let sender = self.handshake(stream, http2, &over).await?;
        Ok(Line { sender, kind, over, streams: Arc::default() })
    }

    async fn handshake(
        &self,
        stream: Box<dyn Stream>,
        http2: bool,
        over: &CancellationToken,
    ) -> Result<Sender, TransportError> {
        let over_too = Box::pin(over.clone().cancelled_owned());
        let stream = TokioIo::new(CancellableStream { stream, over: over_too });
        if http2 {
            let (sender, mut connection) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_AFTER)
                .keep_alive_timeout(PING_MAX)
                .keep_alive_while_idle(true)
                .handshake(stream)
                .await?;
            let allowed = Arc::new(AtomicUsize::new(STREAMS_MAX));
            let seen = allowed.clone();
            let connection = std::future::poll_fn(move |cx| {
                let end = Pin::new(&mut connection).poll(cx);
                // The server's settings come after the handshake, and may change.
                seen.store(connection.current_max_send_streams(), Ordering::Release);
                end
            });
            self.drive(connection, over.clone());
            return Ok(Sender::Http2(sender, allowed));
        }
        let (sender, connection) = http1::handshake(stream).await?;
        self.drive(connection, over.clone());
        Ok(Sender::Http1(Arc::new(Mutex::new(Some(sender)))))
    }

    /// Moves a connection until it ends.
    fn drive(
        &self,
        connection: impl Future<Output = Result<(), hyper::Error>> + Send + 'static,
        over: CancellationToken,
    ) {
        self.tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "Connection to the API server closed");
            }
            over.cancel();
        });
    }
}

async fn exchange(
    request: Request<Body>,
    taken: PooledSender,
    mut slot: Slot,
) -> Result<Sent, TransportError> {
    match taken {
        PooledSender::Http2(mut sender) => match sender.try_send_request(request).await {
            Ok(response) => Ok(Sent::Response(response.map(|body| Reply { body, _slot: slot }))),
            Err(mut error) => match error.take_message() {
                Some(request) => Ok(Sent::Unsent(request)),
                None => Err(error.into_error().into()),
            },
        },
        PooledSender::Http1(place) => {
            let lying = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut sender) = lying else { return Ok(Sent::Unsent(request)) };
            if sender.ready().await.is_err() {
                return Ok(Sent::Unsent(request));
            }
            let sent = sender.try_send_request(for_http1(request)?).await;
            slot.back = Some((sender, place));
            match sent {
                Ok(response) => Ok(Sent::Response(response.map(|body| Reply { body, _slot: slot }))),
                Err(mut error) => match error.take_message() {
                    Some(request) => Ok(Sent::Unsent(request)),
                    None => Err(error.into_error().into()),
                },
            }
        }
    }
}

/// HTTP/1.1 has the path in its first line, and the host in a header.
fn for_http1(mut request: Request<Body>) -> Result<Request<Body>, http::Error> {
    if let Some(authority) = request.uri().authority().map(|authority| authority.as_str().to_owned()) {
        let value = http::HeaderValue::try_from(authority)?;
        request.headers_mut().insert(header::HOST, value);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = Uri::try_from(path)?;
    }
    *request.version_mut() = Version::HTTP_11;
    Ok(request)
}

/// A stream that breaks off when its connection shall be over. HTTP/2 would let the answers on it go on otherwise.
struct CancellableStream {
    stream: Box<dyn Stream>,
    over: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl CancellableStream {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.over.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for CancellableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for CancellableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The body of an answer. Its place on the connection is free when it is dropped.
pub(crate) struct Reply {
    body: Incoming,
    _slot: Slot,
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

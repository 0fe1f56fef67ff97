//! Connections: how many, how long they may be silent, and what is spoken on them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::access::{Certificate, ServerPort};
use super::connection_limit::{ConnectionLimit, ConnectionLimits, ConnectionPermit};
use super::guarded::Guarded;
use super::tls::Shown;
use super::{KubeletServer, ServerTls};

/// How long a handshake may take.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Bytes of a request's head, as upstream limits them, from those whose certificate counts.
const HEAD_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a request's head from unauthenticated clients, any number of which may connect at once. Twice the longest token.
const UNAUTHENTICATED_HEAD_BYTES_MAX: usize = 128 * 1024;

/// How long a connection may be without a request, and how long a head may take (upstream: `IdleTimeout`).
const IDLE_MAX: Duration = Duration::from_secs(90);

/// Requests at the same time on one connection of HTTP/2.
const REQUESTS_AT_ONCE_MAX: u32 = 100;

/// The same of a client whose certificate doesn't count.
const UNAUTHENTICATED_REQUESTS_AT_ONCE_MAX: u32 = 16;

/// How often a silent connection of HTTP/2 is asked whether the other side is still there, and how long that may take.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15));

/// Whether the other side of a silent connection is still there is asked after this long, so often, and so many times, as Go's
/// listeners do: a stream to a machine that is gone ends with that, and not after hours.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(15), Duration::from_secs(15), 9);

/// How long requests may still take after the stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// What an accept that failed is followed by: usually there are too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve_tls(
    server: Arc<KubeletServer>,
    listener: TcpListener,
    tls: Arc<ServerTls>,
    stop: CancellationToken,
) {
    let each = |stream: TcpStream, from, permit: Arc<ConnectionPermit>, tasks: TaskTracker| {
        let (server, tls, stop) = (server.clone(), tls.clone(), stop.clone());
        async move {
            let Some(stream) = handshake(tls.config(), stream, from).await else { return };
            let shown = stream.get_ref().1;
            let is_http2 = shown.alpn_protocol() == Some(b"h2");
            let shown = Shown::new(tls.clone(), shown.peer_certificates());
            if shown.is_known() {
                permit.keep();
            }
            let port = ServerPort::Guarded(shown.certificate());
            let visitor = ClientConnection { server, port, shown: Some(shown), from, permit, stop };
            if is_http2 { visitor.http2(stream, tasks).await } else { visitor.http1(stream).await }
        }
    };
    accept(server.limits(), &listener, &stop, each).await;
    server.end_streams().await;
}

pub(super) async fn serve_plain(
    server: Arc<KubeletServer>,
    listener: TcpListener,
    port: ServerPort,
    stop: CancellationToken,
) {
    let each = |stream: TcpStream, from, permit: Arc<ConnectionPermit>, _| {
        let (server, port, stop) = (server.clone(), port.clone(), stop.clone());
        let visitor = ClientConnection { server, port, shown: None, from, permit, stop };
        visitor.http1(stream)
    };
    accept(server.limits(), &listener, &stop, each).await;
    server.end_streams().await;
}

impl KubeletServer {
    /// Clients of one address may be many: what stands between a node and its API servers often has only one.
    fn limits(&self) -> ConnectionLimits {
        ConnectionLimits { total: self.parts.options.connections_max, of_peer: usize::MAX }
    }

    /// Waits a while for streams, which watch for the stop themselves.
    async fn end_streams(&self) {
        self.tasks.close();
        let _ = tokio::time::timeout(STOP_GRACE, self.tasks.wait()).await;
    }
}

/// The server's side of a TLS connection, if the client completes it in time.
pub(crate) async fn handshake(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    from: SocketAddr,
) -> Option<TlsStream<TcpStream>> {
    let accepted = TlsAcceptor::from(config).accept(stream);
    match tokio::time::timeout(HANDSHAKE_DEADLINE, accepted).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => tracing::debug!(%from, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%from, "TLS handshake timed out"),
    }
    None
}

/// Accepts until the stop, and then waits a while for what is under way.
pub(crate) async fn accept<F>(
    limits: ConnectionLimits,
    listener: &TcpListener,
    stop: &CancellationToken,
    each: impl Fn(TcpStream, SocketAddr, Arc<ConnectionPermit>, TaskTracker) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let (tasks, limit) = (TaskTracker::new(), ConnectionLimit::new(limits));
    loop {
        let accepted = async {
            limit.open().await;
            listener.accept().await
        };
        let (stream, from) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accepted => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "Failed to accept connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        if let Err(error) = set_options(&stream) {
            tracing::debug!(%from, %error, "Failed to set connection options");
        }
        let Some(permit) = limit.take(from.ip()).map(Arc::new) else {
            tracing::debug!(%from, "Closed connection: the client has reached its limit of connections");
            continue;
        };
        let visit = each(stream, from, permit.clone(), tasks.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = visit => {}
                () = permit.revoked() => tracing::debug!(%from, "Closed connection in favor of another one"),
            }
        });
    }
    tasks.close();
    let _ = tokio::time::timeout(STOP_GRACE, tasks.wait()).await;
}

/// Answers requests one after the other, until one of them is upgraded or the stop. A client that says nothing for long is left.
pub(crate) async fn serve_http1<S>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    head_bytes_max: usize,
    stop: CancellationToken,
) -> hyper::Result<()>
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_MAX).max_buf_size(head_bytes_max);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(STOP_GRACE, connection).await.unwrap_or(Ok(()))
        }
    }
}

fn set_options(stream: &TcpStream) -> std::io::Result<()> {
    // Keystrokes go at once.
    stream.set_nodelay(true)?;
    let (idle, interval, probes) = KEEPALIVE;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, idle)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, probes)?;
    Ok(())
}

/// A connected client.
struct ClientConnection {
    server: Arc<KubeletServer>,
    port: ServerPort,
    /// The certificate, if it came by TLS.
    shown: Option<Shown>,
    from: SocketAddr,
    permit: Arc<ConnectionPermit>,
    stop: CancellationToken,
}

impl ClientConnection {
    /// Whether the certificate says who that is.
    fn is_known(&self) -> bool {
        matches!(self.port, ServerPort::Guarded(Certificate::Of(..)))
    }

    fn head_bytes_max(&self) -> usize {
        if self.is_known() { HEAD_BYTES_MAX } else { UNAUTHENTICATED_HEAD_BYTES_MAX }
    }

    /// Answers requests one after the other, until one of them is upgraded.
    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(|request| self.answer(request));
        let ended = serve_http1(stream, service, self.head_bytes_max(), self.stop.clone()).await;
        self.log_end(ended);
    }

    /// Answers requests side by side.
    async fn http2(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, tasks: TaskTracker) {
        let (stop, busy) = (self.stop.clone(), Arc::new(Busy::default()));
        let service = service_fn(|request| {
            let guard = Busy::begin(&busy);
            let answer = self.answer(request);
            async move { Ok::<_, Infallible>(answer.await?.map(|body| Body::new(Guarded::new(body, guard)))) }
        });
        let mut builder = http2::Builder::new(Tracked(tasks));
        let at_once =
            if self.is_known() { REQUESTS_AT_ONCE_MAX } else { UNAUTHENTICATED_REQUESTS_AT_ONCE_MAX };
        builder.timer(TokioTimer::new()).max_header_list_size(self.head_bytes_max() as u32);
        builder.max_concurrent_streams(at_once);
        builder.keep_alive_interval(PING.0).keep_alive_timeout(PING.1);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        let leave = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = busy.idle() => {}
            }
        };
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = leave => {
                connection.as_mut().graceful_shutdown();
                tokio::time::timeout(STOP_GRACE, connection).await.unwrap_or(Ok(()))
            }
        };
        self.log_end(ended);
    }

    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
        let port = self
            .shown
            .as_ref()
            .map_or_else(|| self.port.clone(), |shown| ServerPort::Guarded(shown.certificate()));
        let server = self.server.clone();
        let answer = server.answer(request, port, self.from, self.permit.clone(), self.stop.clone());
        async move { Ok(answer.await) }
    }

    fn log_end(&self, ended: hyper::Result<()>) {
        if let Err(error) = ended {
            tracing::debug!(from = %self.from, %error, "Connection closed");
        }
    }
}

/// Whether a connection has requests.
#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    begun: AtomicU64,
}

/// One of them.
struct BusyGuard(Arc<Busy>);

impl Busy {
    fn begin(this: &Arc<Self>) -> BusyGuard {
        this.now.fetch_add(1, Ordering::Relaxed);
        this.begun.fetch_add(1, Ordering::Relaxed);
        BusyGuard(this.clone())
    }

    /// Waits until there was none for a while.
    async fn idle(&self) {
        loop {
            let before = self.begun.load(Ordering::Relaxed);
            tokio::time::sleep(IDLE_MAX).await;
            if self.now.load(Ordering::Relaxed) == 0 && self.begun.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a connection's requests as tasks that someone waits for.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

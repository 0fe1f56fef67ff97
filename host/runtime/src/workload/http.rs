//! Serves a program that answers HTTP (`wasi:http/proxy`): one instance for each request, on the pod's address.
//!
//! Everything that a client or the program could hold on to has a bound: connections, instances, the time for a
//! request's head, for an answer and for a whole connection, and the sizes of heads and bodies.

mod answer;
pub(super) mod outgoing;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use witlet_wasm::limits::EpochTicker;

use super::exit::Exit;
use super::spec::WorkloadSpec;
use super::state::State;
use super::stdio::{Logged, Sink};
use crate::log::Stream;

/// How many connections of one container are served at once; others wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 256;
/// How long the kernel's queue of connections may be.
const BACKLOG: u32 = 1024;
/// How many requests of one container are answered at once, each by an instance of its own.
const INSTANCES_MAX: usize = 32;
/// A request waits this long for an instance to become free, and is sent away (503) then.
const QUEUE_LIMIT: Duration = Duration::from_secs(10);
/// How long a client may take for the head of a request, and how long a connection may be idle.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The largest body of a request.
const REQUEST_BODY_BYTES_MAX: usize = 16 << 20;
/// The largest body of an answer.
const ANSWER_BODY_BYTES_MAX: usize = 256 << 20;
/// A connection ends after this time, however it is used: who reads an answer slowly can't keep it for ever.
const CONNECTION_LIMIT: Duration = Duration::from_secs(300);
/// How long accepting pauses when it fails, for want of files for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A program on its address.
struct HttpServer {
    handler: ProxyPre<State>,
    ticker: Arc<EpochTicker>,
    spec: WorkloadSpec,
    address: SocketAddr,
    instances: Arc<Semaphore>,
    /// What the runtime itself has to say in the container's log.
    remarks: Logged,
}

impl HttpServer {
    fn remark(&self, words: &str) {
        self.remarks.take(format!("{words}\n").as_bytes());
    }
}

/// Serves until the container is asked to stop, and then until the requests that are under way are answered.
pub(super) async fn serve(handler: ProxyPre<State>, ticker: Arc<EpochTicker>, spec: WorkloadSpec) -> Exit {
    let address = SocketAddr::from((spec.network.address().unwrap_or(Ipv4Addr::UNSPECIFIED), spec.port));
    let listener = match listen(address) {
        Ok(listener) => listener,
        Err(error) => return Exit::not_started(&format!("listen on {address}: {error}")),
    };
    let remarks = Logged::new(Stream::Stderr, spec.log.clone(), spec.now);
    let instances = Arc::new(Semaphore::new(INSTANCES_MAX));
    let site = Arc::new(HttpServer { handler, ticker, spec, address, instances, remarks });
    site.remark(&format!("serving HTTP on http://{address}"));
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let asked = site.spec.stop.token();
    loop {
        let accepted = async {
            // A slot first: connections that no one serves stay in the kernel's queue.
            let slot = slots.clone().acquire_owned().await;
            (slot, listener.accept().await)
        };
        tokio::select! {
            () = asked.cancelled() => break,
            accepted = accepted => match accepted {
                (Ok(slot), Ok((stream, _))) => {
                    let connection = connections.track_future(connection(site.clone(), stream, slot));
                    site.spec.helpers.spawn(connection);
                }
                (Err(_), _) => break,
                (_, Err(error)) => {
                    tracing::debug!(%error, %address, "Failed to accept connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Exit::left(0)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // A container that is started again must not wait for its predecessor's connections to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves one connection until it, the container, or its time ends.
async fn connection(site: Arc<HttpServer>, stream: TcpStream, _slot: OwnedSemaphorePermit) {
    // Small answers shouldn't wait for more; a socket that doesn't know this works as well.
    _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let site = site.clone();
        async move { Ok::<_, std::convert::Infallible>(answer::answer(site, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let asked = site.spec.stop.token();
    let served = async {
        tokio::select! {
            served = connection.as_mut() => return served,
            () = asked.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    let ended = tokio::select! {
        ended = timeout(CONNECTION_LIMIT, served) => ended,
        () = site.spec.over.cancelled() => return,
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, address = %site.address, "Connection closed"),
        Err(_late) => tracing::debug!(address = %site.address, "Connection timed out"),
    }
}

//! TCP connections, and the probe that only opens one.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use witlet_core::probe::ProbeOutcome;

#[cfg(test)]
mod tests;

/// How many names are looked up at the same time. A name server that is silent holds a lookup, and with it one of the
/// threads that all work on the disk shares, for half a minute: long after its probe was given up.
const LOOKUPS_MAX: usize = 16;

/// Room for lookups.
static LOOKUPS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(LOOKUPS_MAX)));

/// No connection.
#[derive(Debug, Error)]
#[error("dial tcp {address}: {}", words(cause))]
pub(crate) struct ConnectError {
    address: String,
    cause: io::Error,
}

/// Opens a connection to an address or name.
pub(crate) async fn connect(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let failed = |cause| ConnectError { address: host_port(host, port), cause };
    // Whoever names an address waits for nobody's names.
    let addresses = match host.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => {
            let name = host.to_owned();
            let resolve = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
            look_up(&LOOKUPS, resolve).await.map_err(failed)?
        }
    };
    TcpStream::connect(&*addresses).await.map_err(failed)
}

/// Looks a name up beside the async threads, once there is room. The room is taken until the lookup has really ended,
/// whether anybody still waits for it or not.
async fn look_up(
    room: &Arc<Semaphore>,
    resolve: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> io::Result<Vec<SocketAddr>> {
    let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let resolving = tokio::task::spawn_blocking(move || {
        let _place = place;
        resolve()
    });
    resolving.await.map_err(io::Error::other)?
}

/// Whether a connection can be opened.
pub(crate) async fn probe(host: &str, port: u16, timeout: Duration) -> ProbeOutcome {
    match tokio::time::timeout(timeout, connect(host, port)).await {
        Ok(Ok(_)) => ProbeOutcome::Success(String::new()),
        Ok(Err(error)) => ProbeOutcome::Failure(error.to_string()),
        Err(_) => ProbeOutcome::Failure(format!("dial tcp {}: i/o timeout", host_port(host, port))),
    }
}

/// `host:port`, an IPv6 address in brackets.
pub(crate) fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// An error of the system as upstream's events have it, such as `connect: connection refused`.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => format!("connect: {}", text.to_lowercase()),
        None => text,
    }
}

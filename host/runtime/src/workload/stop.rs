//! Asking a workload to stop. WASI has no signals, so that the request reaches it by what it waits for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// A knock at a listening socket is answered by the kernel at once, or not at all.
const KNOCK_LIMIT: Duration = Duration::from_secs(1);

/// The request, and who waits where. Standard input ends when it is made, and accepting clients fails.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    asked: CancellationToken,
    listeners: Mutex<Vec<SocketAddr>>,
}

impl StopSignal {
    fn listeners(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the workload was asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Returns a token that is cancelled by the request.
    pub(crate) fn token(&self) -> CancellationToken {
        self.asked.clone()
    }

    /// The workload listens at `address` from now on. False if it is too late for that.
    pub(crate) fn listens(&self, address: SocketAddr) -> bool {
        // Noted before checking: a request made in between finds the listener.
        self.listeners().push(address);
        !self.is_asked()
    }

    /// The workload has closed the socket that listened at `address`.
    pub(crate) fn closed(&self, address: SocketAddr) {
        let mut listeners = self.listeners();
        if let Some(position) = listeners.iter().position(|listener| *listener == address) {
            listeners.swap_remove(position);
        }
    }

    /// Asks. One that waits for a client is woken by a connection to its socket; `accept` fails then, so that the connection
    /// never reaches it.
    pub(crate) async fn ask(&self) {
        self.asked.cancel();
        let listeners = self.listeners().clone();
        // Whether a receiver was there doesn't matter.
        _ = join_all(
            listeners
                .into_iter()
                .map(|listener| tokio::time::timeout(KNOCK_LIMIT, TcpStream::connect(reachable(listener)))),
        )
        .await;
    }
}

/// Where a socket that listens at `address` can be reached from this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

//! Limits connections. When all are taken, the one that has been idle for longest gives way: a client must not shut out others by
//! holding connections that say nothing.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// The part of an IPv6 address that says whose it is: a machine has as many of the rest as it likes.
const IPV6_PEER_BITS: u32 = 64;

/// How many connections a listener has at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) total: usize,
    /// Of the clients at one address.
    pub(crate) of_peer: usize,
}

/// The limit of one listener.
pub(super) struct ConnectionLimit {
    limits: ConnectionLimits,
    state: Mutex<State>,
    left: Notify,
}

#[derive(Default)]
struct State {
    /// Grows with every connection, and with what clients do on them.
    count: u64,
    connections: BTreeMap<u64, Connection>,
}

struct Connection {
    peer: IpAddr,
    /// [`State::count`] when the client did something last.
    since: u64,
    /// Reasons for which it stays. Without one it is idle, or its client isn't authenticated.
    holds: usize,
    /// Cancelled when another connection takes its place.
    revoked: CancellationToken,
}

/// Counts a connection until it is dropped.
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    revoked: CancellationToken,
}

/// Holds a connection while it is dropped last.
pub(crate) struct ConnectionHold(Arc<ConnectionPermit>);

impl ConnectionLimit {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default(), left: Notify::new() })
    }

    /// Returns once another connection can be accepted.
    pub(super) async fn open(&self) {
        loop {
            let left = self.left.notified();
            {
                let state = self.state();
                if state.connections.len() < self.limits.total || state.longest_idle(None).is_some() {
                    return;
                }
            }
            left.await;
        }
    }

    /// Counts a connection that may give way. At a limit it replaces the one that has been idle for longest, at its peer's limit one of that
    /// peer. None if the peer's are all held.
    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer(from);
        let mut state = self.state();
        let of_peer = state.connections.values().filter(|connection| connection.peer == peer).count();
        if of_peer >= self.limits.of_peer {
            let first = state.longest_idle(Some(peer))?;
            state.revoke(first);
        } else if state.connections.len() >= self.limits.total {
            // One connection is accepted at a time, and only after [`ConnectionLimit::open`] returned.
            if let Some(first) = state.longest_idle(None) {
                state.revoke(first);
            }
        }
        let (number, revoked) = (state.next(), CancellationToken::new());
        let connection = Connection { peer, since: number, holds: 0, revoked: revoked.clone() };
        state.connections.insert(number, connection);
        drop(state);
        Some(ConnectionPermit { limit: self.clone(), number, revoked })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The connection, of this peer or of any, that has been idle for longest.
    fn longest_idle(&self, of: Option<IpAddr>) -> Option<u64> {
        let idle = self.connections.iter().filter(|(_, connection)| connection.holds == 0);
        let idle = idle.filter(|(_, connection)| of.is_none_or(|peer| connection.peer == peer));
        idle.min_by_key(|(_, connection)| connection.since).map(|(number, _)| *number)
    }

    fn revoke(&mut self, number: u64) {
        if let Some(connection) = self.connections.remove(&number) {
            connection.revoked.cancel();
        }
    }

    /// The client of this connection did something; `change` is what that means for its holds.
    fn note(&mut self, number: u64, change: impl FnOnce(&mut usize)) {
        let since = self.next();
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.since = since;
            change(&mut connection.holds);
        }
    }
}

impl ConnectionPermit {
    /// The client is authenticated: the connection stays.
    pub(crate) fn keep(&self) {
        self.limit.state().note(self.number, |holds| *holds += 1);
    }

    /// The client asks for something: of the idle connections this is the last one to give way.
    pub(crate) fn asked(&self) {
        self.limit.state().note(self.number, |_| {});
    }

    /// The connection stays until what this returns is dropped; from then on it is idle.
    pub(crate) fn hold(self: &Arc<Self>) -> ConnectionHold {
        self.keep();
        ConnectionHold(self.clone())
    }

    /// Returns when another connection has taken its place.
    pub(super) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

impl Drop for ConnectionHold {
    fn drop(&mut self) {
        self.0.limit.state().note(self.0.number, |holds| *holds = holds.saturating_sub(1));
        // There may be one now that can give way.
        self.0.limit.left.notify_one();
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.state().connections.remove(&self.number);
        self.limit.left.notify_one();
    }
}

/// What counts as one client.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let rest = u128::MAX >> IPV6_PEER_BITS;
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !rest))
        }
    }
}

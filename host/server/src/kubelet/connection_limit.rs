//! Limits connections. When all are taken, an unauthenticated client's gives way: it must not shut out others by holding
//! connections that say nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// The limit of one listener.
pub(super) struct ConnectionLimit {
    most: usize,
    state: Mutex<State>,
    /// A connection ended.
    left: Notify,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Connections so far.
    count: u64,
    /// Unauthenticated connections, oldest first.
    unauthenticated: BTreeMap<u64, CancellationToken>,
}

/// Counts a connection until it is dropped.
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    /// Cancelled when another connection takes its place.
    revoked: CancellationToken,
}

impl ConnectionLimit {
    /// At most so many connections.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), left: Notify::new() })
    }

    /// Returns once another connection can be accepted.
    pub(super) async fn open(&self) {
        loop {
            let left = self.left.notified();
            {
                let state = self.state();
                if state.taken < self.most || !state.unauthenticated.is_empty() {
                    return;
                }
            }
            left.await;
        }
    }

    /// Counts an unauthenticated connection; at the limit it replaces the oldest unauthenticated one.
    pub(super) fn take(self: &Arc<Self>) -> ConnectionPermit {
        let mut state = self.state();
        if state.taken < self.most {
            state.taken += 1;
        } else if let Some((_, first)) = state.unauthenticated.pop_first() {
            first.cancel();
        } else {
            // One connection is accepted at a time, and only after [`ConnectionLimit::open`] returned.
            state.taken += 1;
        }
        state.count += 1;
        let (number, revoked) = (state.count, CancellationToken::new());
        state.unauthenticated.insert(number, revoked.clone());
        drop(state);
        ConnectionPermit { limit: self.clone(), number, revoked }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// The client is authenticated: the connection stays.
    pub(crate) fn keep(&self) {
        self.limit.state().unauthenticated.remove(&self.number);
    }

    /// Returns when another connection has taken its place.
    pub(super) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut state = self.limit.state();
        state.unauthenticated.remove(&self.number);
        if !self.revoked.is_cancelled() {
            state.taken -= 1;
        }
        drop(state);
        self.limit.left.notify_one();
    }
}

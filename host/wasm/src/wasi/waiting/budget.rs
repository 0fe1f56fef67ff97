//! How many sockets and HTTP exchanges guests may have open on the host's side.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many one instance may have at once.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// How many all instances may have at once: each is a descriptor of this process.
pub(crate) const CONNECTIONS_ALL_MAX: usize = 4096;

/// What an instance may open. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionBudget {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// The right to one connection, given back when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl ConnectionBudget {
    /// Of a new instance, which shares `all` with the others.
    pub(crate) fn new(all: Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(CONNECTIONS_MAX)), all }
    }

    /// Whether none is open.
    pub(crate) fn is_unused(&self) -> bool {
        self.own.available_permits() == CONNECTIONS_MAX
    }

    /// None if there are as many as there may be.
    pub(crate) fn take(&self) -> Option<ConnectionPermit> {
        let own = self.own.clone().try_acquire_owned().ok()?;
        let all = self.all.clone().try_acquire_owned().ok()?;
        Some(ConnectionPermit { _own: own, _all: all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_one_instance_nor_all_together_exceed_their_budget() {
        let all = Arc::new(Semaphore::new(CONNECTIONS_MAX + 2));
        let (one, other) = (ConnectionBudget::new(all.clone()), ConnectionBudget::new(all));
        let mut held: Vec<_> = std::iter::from_fn(|| one.take()).collect();
        assert_eq!(held.len(), CONNECTIONS_MAX);
        let others: Vec<_> = std::iter::from_fn(|| other.take()).collect();
        assert_eq!(others.len(), 2);
        held.pop();
        assert!(other.take().is_some(), "what one gives back the other may have");
    }
}

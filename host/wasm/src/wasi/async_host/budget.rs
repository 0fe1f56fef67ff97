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
    share: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// The right to one connection, given back when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _own: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl ConnectionBudget {
    /// Creates the budget of a new instance, which shares `share` with the others of its plugin and `all` with everyone.
    pub(crate) fn new(share: Arc<Semaphore>, all: Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(CONNECTIONS_MAX)), share, all }
    }

    /// Whether none is open.
    pub(crate) fn is_unused(&self) -> bool {
        self.own.available_permits() == CONNECTIONS_MAX
    }

    /// Returns `None` if there are as many as there may be.
    pub(crate) fn take(&self) -> Option<ConnectionPermit> {
        let own = self.own.clone().try_acquire_owned().ok()?;
        let share = self.share.clone().try_acquire_owned().ok()?;
        let all = self.all.clone().try_acquire_owned().ok()?;
        Some(ConnectionPermit { _own: own, _share: share, _all: all })
    }
}

/// The sockets that an instance made. They count until the end of the call, however many were closed before.
pub(crate) struct Connections {
    budget: ConnectionBudget,
    made: Vec<ConnectionPermit>,
}

impl Connections {
    pub(crate) fn new(budget: ConnectionBudget) -> Self {
        Self { budget, made: Vec::new() }
    }

    /// Counts one more, unless there are as many as there may be.
    pub(crate) fn open(&mut self) -> bool {
        let permit = self.budget.take();
        let opened = permit.is_some();
        self.made.extend(permit);
        opened
    }

    /// Ends a call. Returns whether sockets were made in it.
    pub(crate) fn end(&mut self) -> bool {
        !std::mem::take(&mut self.made).is_empty()
    }

    /// Whether no socket and no exchange by HTTP is counted.
    pub(crate) fn is_unused(&self) -> bool {
        self.budget.is_unused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_one_instance_nor_one_plugin_nor_all_together_exceed_their_budget() {
        let all = Arc::new(Semaphore::new(2 * CONNECTIONS_MAX));
        let share = |capacity| Arc::new(Semaphore::new(capacity));
        let one_plugin = share(CONNECTIONS_MAX + 2);
        let one = ConnectionBudget::new(one_plugin.clone(), all.clone());
        let sibling = ConnectionBudget::new(one_plugin, all.clone());
        let other = ConnectionBudget::new(share(CONNECTIONS_MAX), all);
        let fill = |budget: &ConnectionBudget| std::iter::from_fn(|| budget.take()).collect::<Vec<_>>();
        let mut held = fill(&one);
        let (of_sibling, of_other) = (fill(&sibling), fill(&other));
        assert_eq!(held.len(), CONNECTIONS_MAX, "an instance's");
        assert_eq!(of_sibling.len(), 2, "the rest of the plugin's");
        assert_eq!(of_other.len(), CONNECTIONS_MAX - 2, "the rest of all");
        held.pop();
        assert!(other.take().is_some(), "what one gives back the other may have");
    }
}

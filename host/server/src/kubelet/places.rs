//! Places for connections. When all are taken, a stranger's is: whoever was never let in must not shut out others by holding
//! connections that say nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// The places of one listener.
pub(super) struct Places {
    most: usize,
    state: Mutex<State>,
    /// Somebody left.
    left: Notify,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// How many there ever were.
    count: u64,
    /// Those who were never let in, in the order in which they came.
    strangers: BTreeMap<u64, CancellationToken>,
}

/// A connection's place until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    /// Cancelled when somebody else has the place.
    given_away: CancellationToken,
}

impl Places {
    /// At most so many connections.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), left: Notify::new() })
    }

    /// Returns when the next one who comes would get a place.
    pub(super) async fn open(&self) {
        loop {
            let left = self.left.notified();
            {
                let state = self.state();
                if state.taken < self.most || !state.strangers.is_empty() {
                    return;
                }
            }
            left.await;
        }
    }

    /// A place for somebody who isn't known: a free one, or that of the stranger who has been here longest.
    pub(super) fn take(self: &Arc<Self>) -> Place {
        let mut state = self.state();
        if state.taken < self.most {
            state.taken += 1;
        } else if let Some((_, first)) = state.strangers.pop_first() {
            first.cancel();
        } else {
            // Nobody comes in before [`Places::open`] said that there is a place, and only one at a time.
            state.taken += 1;
        }
        state.count += 1;
        let (number, given_away) = (state.count, CancellationToken::new());
        state.strangers.insert(number, given_away.clone());
        drop(state);
        Place { places: self.clone(), number, given_away }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whoever has it is known: nobody else gets it.
    pub(super) fn keep(&self) {
        self.places.state().strangers.remove(&self.number);
    }

    /// Returns when somebody else has it.
    pub(super) async fn given_away(&self) {
        self.given_away.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.state();
        state.strangers.remove(&self.number);
        if !self.given_away.is_cancelled() {
            state.taken -= 1;
        }
        drop(state);
        self.places.left.notify_one();
    }
}

//! Figures that take their time.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

#[cfg(test)]
mod tests;

/// So long the first request waits for the first pass; a later one shows what the pass before found.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(5);

/// Figures that are gathered next to requests: a pass at a time, and one in a period at most.
pub(super) struct Background<T> {
    period: Duration,
    passes: Mutex<Passes>,
    newest: Arc<Newest<T>>,
}

#[derive(Default)]
struct Passes {
    due: Option<Instant>,
    running: JoinSet<()>,
}

/// What passes found.
struct Newest<T> {
    found: SyncMutex<Found<T>>,
    pass_ended: Notify,
}

struct Found<T> {
    /// By the last pass that found something.
    last: Option<Arc<T>>,
    /// Whether a pass ended, with figures or without.
    is_known: bool,
}

impl<T: Send + Sync + 'static> Background<T> {
    pub(super) fn new(period: Duration) -> Self {
        let found = SyncMutex::new(Found { last: None, is_known: false });
        let newest = Newest { found, pass_ended: Notify::new() };
        Self { period, passes: Mutex::default(), newest: Arc::new(newest) }
    }

    /// Begins this pass, if it is time for one. A pass that finds nothing leaves what the one before found.
    pub(super) async fn begin<F>(&self, pass: impl FnOnce() -> F)
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let mut passes = self.passes.lock().await;
        // A pass that panicked is begun again.
        let _ended = passes.running.try_join_next();
        let is_due = passes.due.is_none_or(|due| Instant::now() >= due);
        if !is_due || !passes.running.is_empty() {
            return;
        }
        passes.due = Some(Instant::now() + self.period);
        let (newest, pass) = (self.newest.clone(), pass());
        passes.running.spawn(async move {
            newest.put(pass.await);
        });
    }

    /// What the last pass found. The end of the first one is waited for, for a bounded time; none if it isn't there by then.
    pub(super) async fn newest(&self) -> Option<Arc<T>> {
        let first = self.newest.pass_ended.notified();
        if !self.newest.lock().is_known {
            let _late = timeout(FIRST_WAIT, first).await;
        }
        self.newest.lock().last.clone()
    }
}

impl<T> Newest<T> {
    fn put(&self, found: Option<T>) {
        let last = found.map(Arc::new);
        let mut known = self.lock();
        *known = Found { last: last.or_else(|| known.last.take()), is_known: true };
        drop(known);
        self.pass_ended.notify_waiters();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Found<T>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

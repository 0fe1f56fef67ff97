//! The agent's state files, and what is reported while they can't be written: nothing starts on a node that can't note it first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject};
use witlet_core::reflector::outage::{Outage, REPORT_AFTER};
use witlet_ports::{EventSink, FilesError, StateStore};

#[cfg(test)]
mod tests;

/// While a write has failed another one is tried this often.
const TRY_INTERVAL: Duration = Duration::from_secs(10);
/// What is written then.
const TRIED: &str = "writable";

/// A store that notes whether writes succeed.
pub(crate) struct ReportedState {
    store: Arc<dyn StateStore>,
    /// Since when writes fail, and why.
    failing: Mutex<Option<(Instant, String)>>,
    changed: Notify,
}

impl ReportedState {
    /// Over a store.
    pub(crate) fn new(store: Arc<dyn StateStore>) -> Self {
        Self { store, failing: Mutex::default(), changed: Notify::new() }
    }

    /// Why the node can't be used: its state couldn't be written for [`REPORT_AFTER`].
    pub(crate) fn not_ready(&self) -> Option<String> {
        let (since, error) = self.failing().clone()?;
        (since.elapsed() >= REPORT_AFTER).then(|| format!("failed to save the agent's state: {error}"))
    }

    /// Reports writes that fail, and tries again until one succeeds; until `stop` is cancelled.
    pub(crate) async fn run(&self, events: &dyn EventSink, stop: &CancellationToken) {
        stop.run_until_cancelled(async {
            let began = Instant::now();
            loop {
                self.changed.notified().await;
                let mut outage = Outage::begin(began.elapsed());
                self.report(events);
                while self.failing().is_some() {
                    sleep(TRY_INTERVAL).await;
                    if self.save(TRIED, b"").await.is_ok() {
                        tracing::info!("Saving the agent's state works again");
                    } else if outage.report(began.elapsed()).is_some() {
                        self.report(events);
                    }
                }
            }
        })
        .await;
    }

    fn report(&self, events: &dyn EventSink) {
        let Some((_, error)) = self.failing().clone() else { return };
        let message = format!("failed to save the agent's state, no pod can start: {error}");
        tracing::error!(error = %error, "Failed to save the agent's state");
        events.record(Event::warning(EventObject::Node, "FailedSaveState", message));
    }

    fn failing(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl StateStore for ReportedState {
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        self.store.load(name).await
    }

    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError> {
        let saved = self.store.save(name, value).await;
        let mut failing = self.failing();
        match &saved {
            Ok(()) => *failing = None,
            Err(error) => {
                let since = failing.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                *failing = Some((since, witlet_core::error::one_line(error)));
                self.changed.notify_one();
            }
        }
        saved
    }
}

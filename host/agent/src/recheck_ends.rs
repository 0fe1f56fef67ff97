//! When running pods were ended because handlers rejected them, in a file: an agent that is restarted again and again goes on
//! with their bound.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::recheck::ends::RecheckEnds;
use witlet_core::error::one_line;
use witlet_ports::{EventSink, StateStore};

use crate::checkpoints::load_checkpoint;

const NAME: &str = "recheck-ends.json";
/// A failed write is tried again after this time.
const RETRY: Duration = Duration::from_secs(10);

/// Knows them, and saves each at once.
pub(crate) struct RecheckEndsFile {
    state: Arc<dyn StateStore>,
    ends: Mutex<RecheckEnds>,
    changed: Notify,
}

impl RecheckEndsFile {
    /// As it was saved before the start. What can't be read is as if no pod had been ended, and reported.
    pub(crate) async fn load(state: Arc<dyn StateStore>, events: &dyn EventSink) -> Self {
        let read = |bytes: &[u8]| RecheckEnds::decode(bytes).map_err(|error| one_line(&error));
        let lost = (
            "RecheckEndsLost",
            "Failed to read when running pods were ended by admission handlers, counting them from now on",
        );
        let ends = load_checkpoint(&*state, events, NAME, read, lost).await;
        Self { state, ends: Mutex::new(ends), changed: Notify::new() }
    }

    /// A pod is ended now.
    pub(crate) fn add(&self, now: Timestamp) {
        self.ends().add(now);
        self.changed.notify_one();
    }

    /// How long ago each of them was.
    pub(crate) fn ages(&self, now: Timestamp) -> Vec<Duration> {
        self.ends().ages(now)
    }

    /// Saves what is added until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(self.changed.notified()).await.is_some() {
            let content = self.ends().encode();
            if let Err(error) = self.state.save(NAME, &content).await {
                tracing::warn!(file = NAME, error = one_line(&error), "Failed to save a checkpoint");
                self.changed.notify_one();
                stop.run_until_cancelled(sleep(RETRY)).await;
            }
        }
    }

    fn ends(&self) -> MutexGuard<'_, RecheckEnds> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

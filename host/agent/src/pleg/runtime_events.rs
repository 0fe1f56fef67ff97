//! What the runtime reports by itself (`GetContainerEvents`): each event asks for a check of its pod. That saves the time
//! until the next list; the lists stay the truth, so that nothing is lost with an event.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::{ExponentialBackoff, LOOP};
use witlet_core::pod::PodUid;
use witlet_core::runtime::RuntimeEvent;
use witlet_ports::{PodView, RuntimeError};

use super::RelistRequests;
use crate::health::Health;
use crate::settings::RUNTIME_EVENTS_MAX;
use crate::tasks::until;
use witlet_core::error::one_line;

#[cfg(test)]
mod tests;

/// Events come in bursts, as when a pod is started: those of this time after the first one are one check.
const GATHER: Duration = Duration::from_millis(20);

/// Receives the runtime's events.
pub(crate) struct RuntimeEvents {
    pub(crate) view: Arc<dyn PodView>,
    pub(crate) relists: RelistRequests,
    pub(crate) health: watch::Receiver<Health>,
}

/// How a stream of events ended.
enum StreamEnd {
    /// The runtime ended it, or went away.
    Ended(Result<(), RuntimeError>),
    /// This runtime sends no events.
    Unimplemented,
}

impl RuntimeEvents {
    /// Runs until `stop`. A stream that ends is opened again, after a delay that doubles; of a runtime that sends none
    /// none is asked for again before it was away, because it may come back as another release.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.receive() => {}
        }
    }

    async fn receive(&mut self) {
        let mut backoff = ExponentialBackoff::new(LOOP);
        loop {
            let (batch, end) = self.receive_one_stream().await;
            if batch {
                backoff.succeed();
            }
            match end {
                StreamEnd::Ended(result) => {
                    let delay = backoff.fail();
                    note_end(&result, delay);
                    tokio::time::sleep(delay).await;
                }
                StreamEnd::Unimplemented => {
                    tracing::info!("The runtime sends no container events, relisting each second");
                    if self.until_it_was_away().await.is_err() {
                        // The agent ends, and this task with it.
                        return std::future::pending().await;
                    }
                    backoff.succeed();
                }
            }
        }
    }

    /// Until the runtime is well, isn't any more, and is again.
    async fn until_it_was_away(&mut self) -> Result<(), watch::error::RecvError> {
        self.health.wait_for(Health::is_ready).await?;
        self.health.wait_for(|health| !health.is_ready()).await?;
        self.health.wait_for(Health::is_ready).await?;
        Ok(())
    }

    /// Whether any event came, and how the stream ended.
    async fn receive_one_stream(&self) -> (bool, StreamEnd) {
        let (sender, mut events) = mpsc::channel(RUNTIME_EVENTS_MAX);
        let mut stream = pin!(self.view.events(sender));
        let mut batch = PendingRelists::default();
        let ended = loop {
            tokio::select! {
                biased;
                () = until(batch.ask_at) => self.request_relists(&mut batch),
                Some(event) = events.recv() => batch.take(event),
                ended = &mut stream => break ended,
            }
        };
        while let Ok(event) = events.try_recv() {
            batch.take(event);
        }
        self.request_relists(&mut batch);
        let end = match ended {
            Err(RuntimeError::Unimplemented { .. }) => StreamEnd::Unimplemented,
            ended => StreamEnd::Ended(ended),
        };
        (batch.anything, end)
    }

    fn request_relists(&self, batch: &mut PendingRelists) {
        batch.ask_at = None;
        for uid in std::mem::take(&mut batch.pods) {
            self.relists.request(&uid);
        }
    }
}

/// Events whose pods weren't relisted yet.
#[derive(Default)]
struct PendingRelists {
    anything: bool,
    pods: BTreeSet<PodUid>,
    ask_at: Option<Instant>,
}

impl PendingRelists {
    fn take(&mut self, event: RuntimeEvent) {
        self.anything = true;
        // Without a pod it is of something that isn't ours, or the next list finds it.
        if let Some(uid) = event.uid {
            self.pods.insert(uid);
            self.ask_at.get_or_insert_with(|| Instant::now() + GATHER);
        }
    }
}

fn note_end(result: &Result<(), RuntimeError>, delay: Duration) {
    let again_s = delay.as_secs_f64();
    match result {
        Ok(()) => tracing::debug!(again_s, "Runtime closed its event stream"),
        Err(error) => {
            tracing::debug!(error = one_line(error), again_s, "Event stream of the runtime failed")
        }
    }
}

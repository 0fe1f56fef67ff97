//! Events to the API: correlated, rate limited, sent one after the other.

mod convert;
mod queue;
mod rate;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as api;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::event::Event;
use witlet_core::event::correlate::{Correlator, Outgoing};
use witlet_ports::{Clock, EventSink, Jitter};

use crate::node::api::{ApiError, within};
use queue::{Queue, Waiting};

pub use rate::EventLimit;

/// Events that wait to be sent, repeats of one counted once; more are dropped and counted (upstream: `maxQueuedEvents`).
const EVENTS_MAX: usize = 1000;
/// Tries to send one while the server can't be asked (upstream: `maxTriesPerEvent`).
const TRIES_MAX: u32 = 12;
/// Between two of them; the first wait is a part of it by chance (upstream: `defaultSleepDuration`).
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Sends events to the API server. What happens while it is away waits, repeats as one, and is sent afterwards as fast as the
/// limit allows.
pub struct ApiEvents {
    client: kube::Client,
    node_name: String,
    limit: EventLimit,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    inner: Mutex<Inner>,
    added: Notify,
}

struct Inner {
    correlator: Correlator,
    queue: Queue,
}

impl ApiEvents {
    /// Nothing is sent before [`ApiEvents::run`]; what is recorded until then waits.
    pub fn new(
        client: kube::Client,
        node_name: &str,
        limit: EventLimit,
        clock: Arc<dyn Clock>,
        jitter: Arc<dyn Jitter>,
    ) -> Arc<Self> {
        let inner = Inner { correlator: Correlator::default(), queue: Queue::new(EVENTS_MAX) };
        let (inner, node_name) = (Mutex::new(inner), node_name.to_owned());
        Arc::new(Self { client, node_name, limit, clock, jitter, inner, added: Notify::new() })
    }

    /// How many events were dropped because too many waited.
    pub fn dropped(&self) -> u64 {
        self.lock().queue.dropped()
    }

    /// Sends until `stop` is cancelled. What waits then is lost, as upstream.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        stop.run_until_cancelled(async {
            let rate = self.limit.rate();
            loop {
                let next = self.lock().queue.pop();
                match next {
                    Some(event) => {
                        if let Some(rate) = &rate {
                            rate.wait().await;
                        }
                        self.send(event).await;
                    }
                    None => self.added.notified().await,
                }
            }
        })
        .await;
    }

    /// Sends one, again and again while the server can't be asked, in the end not at all.
    async fn send(&self, mut event: Waiting) {
        for tried in 1..=TRIES_MAX {
            let Err(error) = self.put(&mut event).await else { return };
            let reason = &event.outgoing.key.reason;
            if !may_retry(&error) {
                tracing::debug!(error = %error, reason, "Server rejected event");
                return;
            }
            if tried == TRIES_MAX {
                tracing::warn!(error = %error, reason, "Unable to write event, dropped it");
                return;
            }
            let part = if tried == 1 { self.jitter.unit() } else { 1.0 };
            sleep(RETRY_AFTER.mul_f64(part)).await;
        }
    }

    /// Makes the object, or changes the one that is there. One that the server has forgotten is made again.
    async fn put(&self, event: &mut Waiting) -> Result<(), ApiError> {
        let outgoing = &event.outgoing;
        let namespace = convert::namespace(outgoing);
        let events: Api<api::Event> = Api::namespaced(self.client.clone(), namespace);
        if !event.is_new {
            let name = convert::name(outgoing, &self.node_name);
            let patch = convert::repeat(outgoing);
            let (params, patch) = (PatchParams::default(), Patch::Strategic(&patch));
            match within(events.patch(&name, &params, &patch)).await {
                Err(ApiError::Missing) => event.is_new = true,
                Err(error) => return Err(error),
                Ok(_) => return Ok(()),
            }
        }
        let object = convert::event(&event.outgoing, &self.node_name);
        match within(events.create(&PostParams::default(), &object)).await {
            // An answer was lost, and the object had arrived.
            Err(error) if error.is_conflict() => Ok(()),
            // The namespace is gone, and all events in it.
            Err(ApiError::Missing) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server couldn't answer, as opposed to: wouldn't have it (upstream tries again only where there is no answer).
fn may_retry(error: &ApiError) -> bool {
    match error {
        ApiError::Missing => false,
        ApiError::Refused { code, .. } => matches!(code, 429 | 502 | 503 | 504),
        ApiError::Unavailable(_) | ApiError::TimedOut => true,
    }
}

impl ApiEvents {
    fn enqueue(&self, correlate: impl FnOnce(&mut Correlator, Timestamp) -> Option<Outgoing>) {
        let now = self.clock.now();
        let mut inner = self.lock();
        let Inner { correlator, queue } = &mut *inner;
        if let Some(outgoing) = correlate(correlator, now)
            && queue.push(outgoing)
        {
            drop(inner);
            self.added.notify_one();
        }
    }
}

impl EventSink for ApiEvents {
    fn record(&self, event: Event) {
        self.enqueue(|correlator, now| correlator.correlate(&event, now));
    }

    fn record_once(&self, event: Event, at: Timestamp) {
        self.enqueue(|correlator, now| correlator.correlate_once(&event, at, now));
    }
}

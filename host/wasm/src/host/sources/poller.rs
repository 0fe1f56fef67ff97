//! One source, polled until it is gone.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::sources::SourceUpdate;
use witlet_core::sources::allow::LeftOut;
use witlet_core::sources::polling::{Kept, Outcome, Polled, Polling, Record, Report, Set};
use witlet_ports::SourceEvent;

use super::kept;
use super::left_out::UntoldPods;
use super::read_health::ReadHealth;
use super::spec::{SourcePlugins, SourceSpec, SourcesConfig};

/// Why a set may lack pods.
const LEFT_OUT: &str = "some of its manifests couldn't be read since the start";

/// The receiver is gone.
struct ReceiverClosed;

pub(super) struct Poller<P> {
    plugins: Arc<P>,
    config: Arc<SourcesConfig>,
    specs: watch::Receiver<SourceSpec>,
    events: mpsc::Sender<SourceEvent>,
    records: watch::Sender<Option<Record>>,
    /// Whether the source was there when the agent started.
    restores: bool,
}

impl<P: SourcePlugins> Poller<P> {
    pub(super) fn new(
        plugins: Arc<P>,
        config: Arc<SourcesConfig>,
        specs: watch::Receiver<SourceSpec>,
        events: mpsc::Sender<SourceEvent>,
        records: watch::Sender<Option<Record>>,
        restores: bool,
    ) -> Self {
        Self { plugins, config, specs, events, records, restores }
    }

    /// Polls until the receiver is gone.
    pub(super) async fn run(mut self) {
        let mut spec = self.specs.borrow_and_update().clone();
        let Ok(mut polling) = self.begin(&spec).await else { return };
        let began = Instant::now();
        let mut reading = ReadHealth::new(&self.config, &spec, began);
        let mut untold = UntoldPods::default();
        loop {
            let polled = tokio::select! {
                polled = self.plugins.poll(&spec.name, polling.cursor()) => Some(polled),
                () = other_wish(&mut self.specs, &spec) => None,
            };
            let wait = match polled {
                Some(polled) => {
                    reading.polled(&polled);
                    let outcome;
                    (polling, outcome) = self.observe(polling, polled, began).await;
                    let Outcome { set, reports, left_out, keep, wait } = outcome;
                    if spec.wants_left_out {
                        untold.add(left_out, Instant::now());
                    }
                    reports.into_iter().for_each(|report| self.report(&spec, report));
                    if self.send(&spec, set).await.is_err() {
                        return;
                    }
                    if let Some(kept) = keep {
                        self.keep(&spec, kept);
                    }
                    Some(wait)
                }
                None => None,
            };
            // Other code that came during the poll is asked at once.
            let same_code = self.specs.borrow().version == spec.version;
            if let Some(wait) = wait.filter(|_| same_code)
                && self.wait(&spec, Instant::now() + wait, &mut reading, &mut untold).await.is_err()
            {
                return;
            }
            let newest = self.specs.borrow_and_update().clone();
            if newest.settings != spec.settings || newest.config != spec.config {
                let set = polling.reconfigure(newest.settings.clone());
                if self.send(&newest, set).await.is_err() {
                    return;
                }
            }
            spec = newest;
        }
    }

    /// The last good set from before the agent's start runs on until the source answers. The cursor is the source's own memory,
    /// which it has only if it may keep something.
    async fn begin(&self, spec: &SourceSpec) -> Result<Polling, ReceiverClosed> {
        let record = kept::load(&*self.config.state, spec).await;
        let resumed = record.clone().filter(|_| spec.keeps_state);
        let settings = spec.settings.clone();
        let mut polling = Polling::new(spec.name.clone(), &self.config.node_name, settings, resumed);
        let Some(record) = record.filter(|_| self.restores) else { return Ok(polling) };
        let mut next = polling.clone();
        let work = tokio::task::spawn_blocking(move || {
            let set = next.restore(&record.manifests);
            (next, set)
        });
        match work.await {
            Ok((next, set)) => {
                polling = next;
                self.send(spec, set).await?;
            }
            Err(error) => {
                let plugin = spec.name.as_str();
                tracing::error!(plugin, %error, "Task that reads saved pods of a pod source failed");
            }
        }
        Ok(polling)
    }

    fn keep(&self, spec: &SourceSpec, kept: Kept) {
        let Kept { cursor, manifests } = kept;
        let cursor = cursor.filter(|_| spec.keeps_state);
        self.records.send_replace(Some(Record { config: spec.config_digest(), cursor, manifests }));
    }

    /// Reading a set of manifests takes its time, and none of the threads that others wait for.
    async fn observe(&self, polling: Polling, polled: Polled, began: Instant) -> (Polling, Outcome) {
        let (now, chance) = (began.elapsed(), self.config.jitter.unit());
        let mut next = polling.clone();
        let work = tokio::task::spawn_blocking(move || {
            let outcome = next.observe(polled, now, chance);
            (next, outcome)
        });
        match work.await {
            Ok(observed) => observed,
            Err(error) => {
                let mut polling = polling;
                let failure = Polled::Failure {
                    reason: "Host".to_owned(),
                    message: format!("the host failed to read what it has: {error}"),
                    not_before: None,
                };
                let outcome = polling.observe(failure, now, chance);
                (polling, outcome)
            }
        }
    }

    async fn send(&self, spec: &SourceSpec, set: Option<Set>) -> Result<(), ReceiverClosed> {
        let Some(Set { pods, complete, restored }) = set else { return Ok(()) };
        tracing::info!(
            plugin = spec.name.as_str(),
            count = pods.len(),
            complete,
            restored,
            "Pod source changed its pods"
        );
        let update = match restored {
            true => SourceUpdate::Restored(pods),
            false => SourceUpdate::Replaced { pods, incomplete: (!complete).then(|| LEFT_OUT.to_owned()) },
        };
        self.events.send(SourceEvent { source: spec.name.clone(), update }).await.map_err(|_| ReceiverClosed)
    }

    /// Waits until the source is to be asked again, and tells it meanwhile what it doesn't know.
    async fn wait(
        &mut self,
        spec: &SourceSpec,
        until: Instant,
        reading: &mut ReadHealth,
        untold: &mut UntoldPods,
    ) -> Result<(), ReceiverClosed> {
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                () = self.events.closed() => return Err(ReceiverClosed),
                changed = self.specs.changed() => return changed.map_err(|_| ReceiverClosed),
                () = untold.due() => self.tell(spec, untold).await,
                never = reading.report_when_due() => match never {},
            }
        }
    }

    /// Tells the source which of its pods are left out; what it doesn't take comes again.
    async fn tell(&self, spec: &SourceSpec, untold: &mut UntoldPods) {
        let reported = self.plugins.tell(&spec.name, untold.news()).await;
        if let Err(error) = &reported {
            let plugin = spec.name.as_str();
            tracing::warn!(plugin, %error, "Failed to report left-out pods to a pod source");
        }
        untold.reported(&reported, Instant::now());
    }

    fn report(&self, spec: &SourceSpec, report: Report) {
        let (reason, message) = report.words();
        let kind = match &report {
            Report::Recovered => EventType::Normal,
            Report::Failed { .. } | Report::LeftOut(_) | Report::MoreLeftOut { .. } => EventType::Warning,
        };
        let source = spec.name.to_string();
        let object = match report {
            Report::LeftOut(LeftOut::Forbidden { pod, .. }) => {
                EventObject::Source { source, place: format!("pod {pod}") }
            }
            Report::LeftOut(LeftOut::Invalid { place, .. }) => EventObject::Source { source, place },
            Report::Failed { .. } | Report::Recovered | Report::MoreLeftOut { .. } => {
                EventObject::Plugin(source)
            }
        };
        self.config.events.record(Event::new(object, kind, reason, message));
    }
}

/// Waits until the source is to be asked for something else than it is being asked for. Other code alone isn't a reason: the
/// call that runs is answered.
async fn other_wish(specs: &mut watch::Receiver<SourceSpec>, spec: &SourceSpec) {
    loop {
        if specs.changed().await.is_err() {
            return std::future::pending().await;
        }
        let newest = specs.borrow_and_update();
        if newest.settings != spec.settings || newest.config != spec.config {
            return;
        }
    }
}

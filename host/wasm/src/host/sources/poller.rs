//! One source, polled until it is gone.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use witlet_core::config::allow::LeftOut;
use witlet_core::config::polling::{Kept, Outcome, Polled, Polling, Record, Report, Set};
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::SourceSnapshot;

use super::{SourcePlugins, SourceSpec, SourcesConfig};

/// Nobody listens any more.
struct Deaf;

pub(super) struct Poller<P> {
    plugins: Arc<P>,
    config: Arc<SourcesConfig>,
    specs: watch::Receiver<SourceSpec>,
    snapshots: mpsc::Sender<SourceSnapshot>,
}

impl<P: SourcePlugins> Poller<P> {
    pub(super) fn new(
        plugins: Arc<P>,
        config: Arc<SourcesConfig>,
        specs: watch::Receiver<SourceSpec>,
        snapshots: mpsc::Sender<SourceSnapshot>,
    ) -> Self {
        Self { plugins, config, specs, snapshots }
    }

    /// Polls until nobody listens.
    pub(super) async fn run(mut self) {
        let mut spec = self.specs.borrow_and_update().clone();
        let record = self.load(&spec).await;
        let mut polling =
            Polling::new(spec.name.clone(), &self.config.node_name, spec.settings.clone(), record);
        let began = Instant::now();
        loop {
            let polled = tokio::select! {
                polled = self.plugins.poll(&spec.name, polling.cursor()) => Some(polled),
                () = other_wish(&mut self.specs, &spec) => None,
            };
            let wait = match polled {
                Some(polled) => {
                    let outcome;
                    (polling, outcome) = self.observe(polling, polled, began).await;
                    let Outcome { set, reports, keep, wait } = outcome;
                    reports.into_iter().for_each(|report| self.tell(&spec, report));
                    if self.send(&spec, set).await.is_err() {
                        return;
                    }
                    if let Some(kept) = keep.filter(|_| spec.keeps_state) {
                        self.save(&spec, kept).await;
                    }
                    Some(wait)
                }
                None => None,
            };
            // Other code that came during the poll is asked at once.
            let same_code = self.specs.borrow().version == spec.version;
            if let Some(wait) = wait.filter(|_| same_code) {
                tokio::select! {
                    () = sleep(wait) => {}
                    () = self.snapshots.closed() => return,
                    changed = self.specs.changed() => if changed.is_err() { return },
                }
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

    async fn send(&self, spec: &SourceSpec, set: Option<Set>) -> Result<(), Deaf> {
        let Some(Set { pods, complete }) = set else { return Ok(()) };
        tracing::info!(
            source = spec.name.as_str(),
            pods = pods.len(),
            complete,
            "a pod source has another set"
        );
        let snapshot = SourceSnapshot { source: spec.name.clone(), pods, complete, restored: false };
        self.snapshots.send(snapshot).await.map_err(|_| Deaf)
    }

    fn tell(&self, spec: &SourceSpec, report: Report) {
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
        self.config.events.record(Event { object, kind, reason: reason.to_owned(), message });
    }

    /// What the source left before the agent's start. What can't be read, or belongs to another configuration, is as good as
    /// nothing: the source is asked for everything.
    async fn load(&self, spec: &SourceSpec) -> Option<Record> {
        if !spec.keeps_state {
            return None;
        }
        let bytes = match self.config.state.load(&spec.state_name()).await {
            Ok(bytes) => bytes?,
            Err(error) => {
                let error = one_line(&error);
                tracing::warn!(source = spec.name.as_str(), error, "what a pod source left can't be read");
                return None;
            }
        };
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.config == spec.config_digest()).then_some(record)
    }

    async fn save(&self, spec: &SourceSpec, kept: Kept) {
        let Kept { cursor, manifests } = kept;
        let record = Record { config: spec.config_digest(), cursor, manifests };
        let bytes = serde_json::to_vec(&record).expect("a record is texts, so it always becomes JSON");
        if let Err(error) = self.config.state.save(&spec.state_name(), &bytes).await {
            let error = one_line(&error);
            tracing::warn!(source = spec.name.as_str(), error, "what a pod source has can't be kept");
        }
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

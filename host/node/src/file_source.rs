//! Pods from manifests in a file or folder (upstream's `config/file.go`): inotify, and a full list in case it missed
//! something.

mod folder;
mod inherited;
mod scan;
mod watcher;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject};
use witlet_core::pod::SourceName;
use witlet_core::sources::SourceUpdate;
use witlet_core::text::shortened;
use witlet_ports::{
    Clock, EventSink, PodSource, PodView, SourceEvent, SourceHealth, SourceOutage, StateStore,
};

pub use folder::{FileState, Folder, Listing, Outcome, Report, ReportReason};
pub use inherited::INHERITED_UIDS;
use inherited::Inherited;
pub use scan::Stamp as FileStamp;
use scan::{SETTLE, Scan, Scanner, name_of};
pub use watcher::FolderWatcher;
use watcher::RemovedFiles;

use crate::SystemClock;

#[cfg(test)]
mod tests;

/// A timer without a period is none.
const FILE_CHECK_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// How often a scan waits for files that are being written, before it takes them as they are: two seconds in all.
const UNSETTLED_SCANS_MAX: u32 = 10;
/// A check that takes longer hangs: two seconds are for files that are being written.
const READ_TIME_MAX: Duration = Duration::from_secs(10);
/// Why a folder can't be read while a check of it takes long.
const NO_ANSWER: &str = "the file system doesn't answer";
/// Why a set of manifests may lack pods.
const INCOMPLETE: &str = "some manifests couldn't be read since the start";
/// Bytes of an event's message: the events API takes no more.
const EVENT_MESSAGE_BYTES_MAX: usize = 1024;

/// The pod source `file`.
pub struct FileSource {
    path: PathBuf,
    node_name: String,
    check_interval: Duration,
    clock: Arc<dyn Clock>,
    events: Arc<dyn EventSink>,
    inherited: Option<Inherited>,
    health: Arc<SourceHealth>,
}

impl FileSource {
    /// Reads the manifests at `path`, a folder or a file, for this node. `check_interval` is usually
    /// upstream's `fileCheckFrequency`, and at least 10 ms.
    pub fn new(
        path: impl Into<PathBuf>,
        node_name: impl Into<String>,
        check_interval: Duration,
        clock: Arc<dyn Clock>,
        events: Arc<dyn EventSink>,
    ) -> Self {
        let path = path.into();
        // The path goes into UIDs: the same folder must be called the same, wherever the agent is started.
        let path = std::path::absolute(&path).unwrap_or(path);
        let check_interval = check_interval.max(FILE_CHECK_INTERVAL_MIN);
        Self {
            path,
            node_name: node_name.into(),
            check_interval,
            clock,
            events,
            inherited: None,
            health: Arc::default(),
        }
    }

    /// Lets pods whose files didn't change keep the UIDs that they run with, whichever agent started them.
    #[must_use]
    pub fn inheriting(mut self, pods: Arc<dyn PodView>, state: Arc<dyn StateStore>) -> Self {
        self.inherited = Some(Inherited::new(pods, state));
        self
    }

    /// Notes there while the manifests can't be read.
    #[must_use]
    pub fn with_health(mut self, health: Arc<SourceHealth>) -> Self {
        self.health = health;
        self
    }

    fn report(&self, outage: &mut SourceOutage, now: Duration, error: &str) {
        if outage.report(now, error).is_some() {
            tracing::warn!(place = %self.path.display(), error, "Manifests are unreadable");
        }
    }

    fn record(&self, report: Report) {
        tracing::warn!(
            place = report.place,
            reason = report.reason.as_str(),
            problem = report.message,
            "Found a problem with manifests"
        );
        // To what an event may hold; the log has it in full.
        let message = shortened(report.message, EVENT_MESSAGE_BYTES_MAX);
        let object = EventObject::Source { source: self.name().to_string(), place: report.place };
        self.events.record(Event::warning(object, report.reason.as_str(), message));
    }

    /// Checks until nothing is being written or its time is over. None: the runtime shuts down.
    async fn scan(
        &self,
        mut state: Box<(Scanner, Folder)>,
        removed: &RemovedFiles,
    ) -> Option<(Box<(Scanner, Folder)>, Outcome)> {
        for attempt in 0..=UNSETTLED_SCANS_MAX {
            let now = self.clock.now();
            let may_wait = attempt < UNSETTLED_SCANS_MAX;
            let removed = removed.clone();
            let scan = tokio::task::spawn_blocking(move || {
                let Scan { listing, settled } = state.0.scan(now, may_wait);
                let outcome = settled.then(|| {
                    if state.1.may_inherit() {
                        state.1.note_changes(state.0.changes());
                    }
                    state.1.note_time(now);
                    let removed = removed.take().iter().map(|path| name_of(path)).collect();
                    state.1.observe_after(&removed, listing)
                });
                (state, outcome)
            });
            let outcome;
            (state, outcome) = scan.await.ok()?;
            if let Some(outcome) = outcome {
                return Some((state, outcome));
            }
            tokio::time::sleep(SETTLE).await;
        }
        Some((state, Outcome::default()))
    }
}

/// Waits until a report is due, and at least until `earliest`; for ever while the source can be read.
async fn due(began: Instant, outage: &SourceOutage, earliest: Instant) {
    match outage.next_report() {
        Some(at) => tokio::time::sleep_until(earliest.max(began + at)).await,
        None => std::future::pending().await,
    }
}

#[async_trait]
impl PodSource for FileSource {
    fn name(&self) -> SourceName {
        SourceName::file()
    }

    async fn run(self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let mut folder = Folder::new(self.name(), self.node_name.clone(), self.path.display().to_string());
        if let Some(inherited) = &self.inherited {
            tokio::select! {
                () = stop.cancelled() => return,
                uids = inherited.load() => folder.inherit(uids),
            }
        }
        let mut saved = BTreeMap::new();
        let mut state = Box::new((Scanner::new(self.path.clone()), folder));
        let mut watcher = FolderWatcher::new(self.path.clone());
        let began = Instant::now();
        let mut outage =
            SourceOutage::new(self.name(), self.health.clone(), self.clock.clone(), self.events.clone());
        let mut checks = tokio::time::interval(self.check_interval);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = events.closed() => return,
                _ = checks.tick() => {}
                () = watcher.changed() => {}
                // What can't be read is checked again before that is reported.
                () = due(began, &outage, began) => {}
            }
            // The watch comes before the check: what happens after the check is seen by the watch.
            watcher.follow();
            // A file system that hangs is one that can't be read.
            outage.unread(began.elapsed());
            let hangs_at = Instant::now() + READ_TIME_MAX;
            let removed = watcher.removed();
            let scan = self.scan(state, &removed);
            tokio::pin!(scan);
            let scanned = loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    scanned = &mut scan => break scanned,
                    () = due(began, &outage, hangs_at) => self.report(&mut outage, began.elapsed(), NO_ANSWER),
                }
            };
            let Some((next, outcome)) = scanned else { return };
            state = next;
            match &outcome.unread {
                Some(error) => self.report(&mut outage, began.elapsed(), error),
                None => outage.read(),
            }
            outcome.reports.into_iter().for_each(|report| self.record(report));
            if let Some(inherited) = &self.inherited
                && *state.1.inherited() != saved
            {
                saved = state.1.inherited().clone();
                inherited.save(&saved).await;
            }
            for pods in [outcome.between, outcome.pods].into_iter().flatten() {
                let incomplete = (!outcome.complete).then(|| INCOMPLETE.to_owned());
                let update = SourceUpdate::Replaced { pods, incomplete };
                let event = SourceEvent { source: self.name(), update };
                tokio::select! {
                    () = stop.cancelled() => return,
                    sent = events.send(event) => if sent.is_err() { return },
                }
            }
        }
    }
}

/// What a source at this path would bring and report: for checking manifests without a daemon.
pub fn check_path(path: &Path, node_name: &str) -> Outcome {
    let mut folder = Folder::new(SourceName::file(), node_name.to_owned(), path.display().to_string());
    let scan = Scanner::new(path.to_owned()).scan(SystemClock.now(), false);
    folder.observe(scan.listing)
}

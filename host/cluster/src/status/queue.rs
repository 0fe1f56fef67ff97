//! The work queue of the status manager: the newest report of each pod, what the server has of it, and which write is due next.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::pod::startup::{PullTime, StartLatency, is_tracked, start_latency};
use witlet_core::pod::static_pod::is_static;
use witlet_core::status::write::{AtServer, is_newer};
use witlet_ports::PodReport;

use super::wire::ServerPod;

#[cfg(test)]
mod tests;

/// So many writes are with the server at the same time.
pub(super) const WRITES_MAX: usize = 32;
/// A pod's next PATCH begins this long after its last one at the earliest: what changes meanwhile goes with it.
pub(super) const PATCH_GAP: Duration = Duration::from_millis(100);
/// A pod that the server didn't take for the one that was meant is checked again after this, should the watch bring nothing.
/// So is one whose object was deleted and is still there.
pub(super) const NEWS_WAIT_MAX: Duration = Duration::from_secs(60);

/// Decides when each pod's status is written, not what is written.
#[derive(Default)]
pub(super) struct StatusQueue {
    entries: HashMap<PodUid, Entry>,
    /// Pods by the time at which their write is due.
    due: BTreeSet<(Instant, PodUid)>,
    writing: usize,
    writes_begun: u64,
    pause: Option<Pause>,
}

/// While the server has trouble, one write at a time tries it.
struct Pause {
    since: Instant,
    until: Instant,
    failures: u32,
}

struct Entry {
    report: PodReport,
    /// One more with each report.
    version: u64,
    due: Option<Instant>,
    /// The write that is in flight.
    in_flight: Option<u64>,
    /// When the last PATCH began.
    patched_at: Option<Instant>,
    /// When the object was deleted.
    deleted_at: Option<Instant>,
    failures: u32,
    /// Not before, for the last write failed.
    retry_at: Option<Instant>,
    settled: Option<Settled>,
    memory: Memory,
    /// When the first report came that the server doesn't have yet.
    changed_at: Option<Instant>,
    /// How long images were pulled, until the start of the pod was counted; none of a pod whose start isn't.
    pulls: Option<PullTime>,
}

/// What the server was sent of a pod, and for which object.
struct Settled {
    version: u64,
    object: Option<Object>,
}

/// An object of the server at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    uid: String,
    resource_version: String,
}

impl Object {
    pub(super) fn of(at: AtServer<'_>) -> Self {
        Self { uid: at.uid.to_owned(), resource_version: at.resource_version.to_owned() }
    }

    fn tells_more_than(&self, other: &Self) -> bool {
        self.uid != other.uid || is_newer(&self.resource_version, &other.resource_version)
    }
}

/// What the server's answers to writes of a pod leave behind.
#[derive(Clone, Default)]
pub(super) struct Memory {
    /// The object as the last answer had it, until the watch is as far.
    pub(super) answer: Option<Arc<ServerPod>>,
    /// What it didn't take over of the last patch, though it said that it did.
    pub(super) leftover: Option<Arc<serde_json::Value>>,
}

/// A write that may begin now.
pub(super) struct InFlightWrite {
    pub(super) number: u64,
    pub(super) uid: PodUid,
    pub(super) report: PodReport,
    pub(super) version: u64,
    pub(super) memory: Memory,
    pub(super) deleted_at: Option<Instant>,
}

/// A write that ended.
pub(super) struct Done {
    pub(super) in_flight: u64,
    pub(super) uid: PodUid,
    pub(super) version: u64,
    pub(super) began: Instant,
}

/// How a write ended.
pub(super) enum End {
    /// There was nothing to write, or no object to write to.
    Idle(Option<Object>),
    Later(Option<Object>, Instant),
    /// The status was taken.
    Patched(Object, Memory),
    Deleted(Object),
    /// The object isn't what it was taken for.
    AwaitNews(Option<Object>),
    /// The write failed for its own reasons.
    Failed(Instant),
    /// The server has trouble until then, or longer.
    Troubled,
}

impl StatusQueue {
    /// Takes a report in. A pod that is in the queue keeps what is known of it.
    pub(super) fn report(&mut self, report: PodReport, now: Instant) {
        let uid = PodUid::of(&report.pod);
        match self.entries.get_mut(&uid) {
            Some(entry) => {
                entry.report = report;
                entry.version += 1;
                entry.changed_at.get_or_insert(now);
            }
            None => {
                self.entries.insert(uid.clone(), Entry::new(report, now));
            }
        }
        self.enqueue(&uid, now);
    }

    /// An image of the pod was pulled.
    pub(super) fn pulled(&mut self, uid: &PodUid, from: Timestamp, to: Timestamp) {
        if let Some(pulls) = self.entries.get_mut(uid).and_then(|entry| entry.pulls.as_mut()) {
            pulls.add(from, to);
        }
    }

    /// How long it took until the server had what was reported, of a write that succeeded.
    pub(super) fn take_change(&mut self, done: &Done, now: Instant) -> Option<Duration> {
        let entry = self.entries.get_mut(&done.uid)?;
        let since = entry.changed_at.take()?;
        // What came meanwhile isn't written yet.
        entry.changed_at = (entry.version != done.version).then_some(done.began);
        Some(now.duration_since(since))
    }

    /// How long the pod took to start, once the server knows that it has.
    pub(super) fn take_latency(&mut self, done: &Done, now: Timestamp) -> Option<StartLatency> {
        let entry = self.entries.get_mut(&done.uid).filter(|entry| entry.version == done.version)?;
        let (pulls, report) = (entry.pulls?, &entry.report);
        let latency = start_latency(&report.pod, report.status.as_deref()?, pulls, now)?;
        entry.pulls = None;
        Some(latency)
    }

    /// Forgets the pod: nothing is written of it any more. A write that is under way isn't taken back.
    pub(super) fn forget(&mut self, uid: &PodUid) {
        if let Some(entry) = self.entries.remove(uid)
            && let Some(due) = entry.due
        {
            self.due.remove(&(due, uid.clone()));
        }
    }

    /// Enqueues all pods of which the server has a newer object than the one that was settled; `newest` gives it.
    pub(super) fn reconsider(&mut self, newest: impl Fn(&PodReport) -> Option<Object>, now: Instant) {
        let is_new = |entry: &Entry| match (&entry.settled, newest(&entry.report)) {
            (Some(Settled { version, .. }), _) if *version != entry.version => true,
            (Some(Settled { object: Some(settled), .. }), Some(newest)) => newest.tells_more_than(settled),
            (Some(Settled { object: None, .. }), newest) => newest.is_some(),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let idle = self.entries.iter().filter(|(_, entry)| entry.in_flight.is_none());
        let idle = idle.filter(|(_, entry)| entry.due.is_none_or(|due| due > now));
        let uids: Vec<PodUid> = idle.filter(|(_, entry)| is_new(entry)).map(|(uid, _)| uid.clone()).collect();
        for uid in uids {
            self.enqueue(&uid, now);
        }
    }

    /// What was settled and answered counts for nothing: versions may have begun again. Contents are compared instead.
    pub(super) fn forget_versions(&mut self) {
        for entry in self.entries.values_mut() {
            entry.memory.answer = None;
            if let Some(settled) = &mut entry.settled {
                settled.object = None;
            }
        }
    }

    /// Returns all reports, as they are now.
    pub(super) fn reports(&self) -> impl Iterator<Item = &PodReport> {
        self.entries.values().map(|entry| &entry.report)
    }

    /// When the next write is due, if nothing changes before.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let (first, _) = self.due.first()?;
        match &self.pause {
            None => (self.writing < WRITES_MAX).then_some(*first),
            Some(pause) => (self.writing == 0).then_some(pause.until.max(*first)),
        }
    }

    /// Takes the next write if one is due and may begin. It has to be ended with [`StatusQueue::end`].
    pub(super) fn take_due(&mut self, now: Instant) -> Option<InFlightWrite> {
        if self.next_due().is_none_or(|next| next > now) {
            return None;
        }
        let (_, uid) = self.due.pop_first()?;
        let entry = self.entries.get_mut(&uid)?;
        entry.due = None;
        self.writes_begun += 1;
        self.writing += 1;
        let number = self.writes_begun;
        entry.in_flight = Some(number);
        let (report, version, memory) = (entry.report.clone(), entry.version, entry.memory.clone());
        Some(InFlightWrite { number, uid, report, version, memory, deleted_at: entry.deleted_at })
    }

    /// Ends a write.
    pub(super) fn end(&mut self, done: &Done, end: End, now: Instant) {
        let Done { in_flight, uid, version, began } = done;
        let (in_flight, version, began) = (*in_flight, *version, *began);
        self.writing = self.writing.saturating_sub(1);
        match end {
            End::Troubled | End::Idle(_) | End::Later(..) => {}
            // The server is there, whatever it says.
            End::Patched(..) | End::Deleted(_) | End::AwaitNews(_) | End::Failed(_) => self.pause = None,
        }
        // A pod that was forgotten meanwhile, and maybe added again, has another entry.
        let Some(entry) = self.entries.get_mut(uid).filter(|entry| entry.in_flight == Some(in_flight)) else {
            return;
        };
        entry.in_flight = None;
        let mut again = None;
        let settle = |entry: &mut Entry, object| {
            entry.settled = Some(Settled { version, object });
            (entry.failures, entry.retry_at) = (0, None);
        };
        match end {
            End::Idle(object) => {
                settle(entry, object);
                entry.changed_at = None;
            }
            End::Later(object, at) => {
                settle(entry, object);
                again = Some(at);
            }
            End::Patched(object, memory) => {
                settle(entry, Some(object));
                entry.memory = memory;
                entry.patched_at = Some(began);
                // Its object may be ready to go.
                again = entry.report.is_finished.then_some(now);
            }
            End::Deleted(object) => {
                settle(entry, Some(object));
                entry.deleted_at = Some(now);
                again = Some(now + NEWS_WAIT_MAX);
            }
            End::AwaitNews(object) => {
                settle(entry, object);
                entry.memory = Memory::default();
                again = Some(now + NEWS_WAIT_MAX);
            }
            End::Failed(retry_at) => {
                entry.failures = entry.failures.saturating_add(1);
                entry.retry_at = Some(retry_at);
                again = Some(retry_at);
            }
            End::Troubled => again = Some(now),
        }
        if entry.version != version {
            again = Some(again.map_or(now, |at| at.min(now)));
        }
        if let Some(at) = again {
            self.enqueue(uid, at);
        }
    }

    /// The answer that is remembered of a pod isn't newer than what the watch brought.
    pub(super) fn drop_answer(&mut self, uid: &PodUid) {
        if let Some(entry) = self.entries.get_mut(uid) {
            entry.memory.answer = None;
        }
    }

    /// Stops all writes for `wait(failures)`. Several that failed at the same time count once.
    pub(super) fn pause(&mut self, began: Instant, now: Instant, wait: impl FnOnce(u32) -> Duration) -> bool {
        let failures = match &self.pause {
            Some(pause) if began < pause.since => return false,
            Some(pause) => pause.failures.saturating_add(1),
            None => 1,
        };
        self.pause = Some(Pause { since: now, until: now + wait(failures), failures });
        failures == 1
    }

    /// How often in a row writes of this pod have failed.
    pub(super) fn failures(&self, uid: &PodUid) -> u32 {
        self.entries.get(uid).map_or(0, |entry| entry.failures)
    }

    fn enqueue(&mut self, uid: &PodUid, at: Instant) {
        let Some(entry) = self.entries.get_mut(uid).filter(|entry| entry.in_flight.is_none()) else { return };
        let gap_ends = entry.patched_at.map(|patched| patched + PATCH_GAP);
        let not_before = [gap_ends.filter(|_| !entry.report.is_finished), entry.retry_at];
        let at = not_before.into_iter().flatten().fold(at, Instant::max);
        let at = entry.due.map_or(at, |due| due.min(at));
        if let Some(due) = entry.due.replace(at) {
            self.due.remove(&(due, uid.clone()));
        }
        self.due.insert((at, uid.clone()));
    }
}

impl Entry {
    fn new(report: PodReport, now: Instant) -> Self {
        let is_tracked = !is_static(&report.pod) && is_tracked(&report.pod);
        Self {
            changed_at: Some(now),
            pulls: is_tracked.then(PullTime::default),
            report,
            version: 0,
            due: None,
            in_flight: None,
            patched_at: None,
            deleted_at: None,
            failures: 0,
            retry_at: None,
            settled: None,
            memory: Memory::default(),
        }
    }
}

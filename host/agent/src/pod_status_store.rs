//! What the agent shows of its pods and of the node: always the newest, never waiting for anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodStatus};
use tokio::sync::watch;
use witlet_core::admission::verdicts::{self, HandlerVerdict};
use witlet_core::container::plan::ephemeral_containers;
use witlet_core::eviction::ThresholdState;
use witlet_core::pod::lifecycle::PodState;
use witlet_core::pod::{PodFullName, PodUid, SourceName, static_pod};
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_core::status::{Phase, is_ended_by_node, terminations};
use witlet_ports::{
    AgentStats, AgentView, EventPage, MetricsSource, PodPage, PodReport, RecordedEvent, ShownPod, StatusSink,
};

use crate::event_log::EventLog;
use crate::metrics::pods::PodMetrics;

#[cfg(test)]
mod tests;

/// Newest pods, statuses, node and numbers. Shared by the loop, the pods' work and all readers.
pub(crate) struct PodStatusStore {
    inner: Mutex<Inner>,
    events: Arc<EventLog>,
    /// Receives every change of a pod while the store is locked, so in the order of the changes.
    sink: Arc<dyn StatusSink>,
    metrics: Arc<PodMetrics>,
    /// One more with each pod that comes, changes or goes.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    pods: HashMap<PodUid, Entry>,
    node: Arc<Node>,
    unhealthy: Vec<String>,
    stats: AgentStats,
    thresholds: Vec<ThresholdState>,
    sources_seen: bool,
    /// The number of the latest change that was the end of a pod.
    removed: u64,
}

struct Entry {
    pod: Arc<Pod>,
    status: Option<Arc<PodStatus>>,
    /// One more with each change of the status.
    version: u64,
    /// The number of its latest change among those of all pods.
    changed: u64,
    state: PodState,
    /// Of each admission handler the newest.
    verdicts: Vec<HandlerVerdict>,
}

impl Entry {
    fn report(&self) -> PodReport {
        let PodState { may_run, is_finished, is_ending } = self.state;
        PodReport { pod: self.pod.clone(), status: self.status.clone(), may_run, is_finished, is_ending }
    }

    fn shown(&self) -> ShownPod {
        ShownPod { pod: self.pod.clone(), status: self.status.clone() }
    }
}

/// A pod and its newest status.
#[derive(Clone, Debug)]
pub(crate) struct PodSummary {
    pub(crate) full_name: PodFullName,
    pub(crate) uid: PodUid,
    pub(crate) status: Option<Arc<PodStatus>>,
    /// One more with each change of the status.
    pub(crate) version: u64,
}

impl PodStatusStore {
    pub(crate) fn new(events: Arc<EventLog>, sink: Arc<dyn StatusSink>, metrics: Arc<PodMetrics>) -> Self {
        Self { inner: Mutex::default(), events, sink, metrics, changes: watch::Sender::new(0) }
    }

    /// Shows the pod as its source has it now; its status stays.
    pub(crate) fn put_pod(&self, uid: &PodUid, pod: Arc<Pod>) {
        let mut inner = self.lock();
        let new = || Entry {
            pod: pod.clone(),
            status: None,
            version: 0,
            changed: 0,
            state: PodState::NEW,
            verdicts: Vec::new(),
        };
        let entry = inner.pods.entry(uid.clone()).or_insert_with(new);
        entry.pod = pod.clone();
        self.report(entry);
    }

    /// Shows how far the pod has come, if it is shown at all.
    pub(crate) fn put_state(&self, uid: &PodUid, state: PodState) {
        let mut inner = self.lock();
        if let Some(entry) = inner.pods.get_mut(uid).filter(|entry| entry.state != state) {
            entry.state = state;
            self.report(entry);
        }
    }

    /// Shows how far the thresholds of evictions are away.
    pub(crate) fn put_thresholds(&self, thresholds: Vec<ThresholdState>) {
        self.lock().thresholds = thresholds;
    }

    /// Whether every source was seen as a whole.
    pub(crate) fn put_sources_seen(&self, all: bool) {
        let mut inner = self.lock();
        if inner.sources_seen != all {
            inner.sources_seen = all;
            self.sink.sources_seen(all);
        }
    }

    /// Shows a new status. Says whether it differs from the last; a pod that isn't shown gets none. That the node ended a pod
    /// isn't taken back by work which didn't know of it yet.
    pub(crate) fn put_status(&self, uid: &PodUid, status: PodStatus) -> bool {
        let mut inner = self.lock();
        let Some(entry) = inner.pods.get_mut(uid) else { return false };
        let goes_on = !Phase::of(&status).is_some_and(Phase::is_terminal);
        if goes_on && entry.status.as_deref().is_some_and(is_ended_by_node) {
            return false;
        }
        if entry.status.as_deref() == Some(&status) {
            return false;
        }
        let last = entry.status.as_deref().or(entry.pod.status.as_ref());
        terminations(last, &status).iter().for_each(|ended| self.metrics.terminated(ended));
        entry.status = Some(Arc::new(status));
        entry.version += 1;
        self.report(entry);
        true
    }

    /// Replaces a status by what follows from it, if anything does. No other status gets lost in between.
    pub(crate) fn revise_status(
        &self,
        uid: &PodUid,
        revise: impl FnOnce(&Pod, &PodStatus) -> Option<PodStatus>,
    ) {
        let mut inner = self.lock();
        let Some(entry) = inner.pods.get_mut(uid) else { return };
        let revised = entry.status.as_ref().and_then(|status| revise(&entry.pod, status));
        if let Some(status) = revised {
            entry.status = Some(Arc::new(status));
            entry.version += 1;
            self.report(entry);
        }
    }

    /// The newest status; the one that the source brought if there is no other.
    pub(crate) fn status(&self, uid: &PodUid) -> Option<Arc<PodStatus>> {
        let inner = self.lock();
        let entry = inner.pods.get(uid)?;
        entry.status.clone().or_else(|| entry.pod.status.clone().map(Arc::new))
    }

    /// An image of the pod was pulled.
    pub(crate) fn pulled(&self, uid: &PodUid, from: Timestamp, to: Timestamp) {
        self.sink.pulled(uid, from, to);
    }

    /// Whether the pod is shown.
    pub(crate) fn shows(&self, uid: &PodUid) -> bool {
        self.lock().pods.contains_key(uid)
    }

    /// Doesn't show the pod any more.
    pub(crate) fn remove(&self, uid: &PodUid) {
        let mut inner = self.lock();
        if inner.pods.remove(uid).is_some() {
            self.sink.forget(uid);
            inner.removed = self.changed();
        }
    }

    /// Keeps what admission handlers made of a pod, if it is shown at all.
    pub(crate) fn put_verdicts(&self, uid: &PodUid, verdicts: Vec<HandlerVerdict>) {
        if let Some(entry) = self.lock().pods.get_mut(uid) {
            entry.verdicts = verdicts::merged(&entry.verdicts, verdicts);
        }
    }

    /// Returns what admission handlers made of the pod when they were asked last.
    pub(crate) fn verdicts(&self, uid: &PodUid) -> Vec<HandlerVerdict> {
        self.lock().pods.get(uid).map(|entry| entry.verdicts.clone()).unwrap_or_default()
    }

    /// UIDs of all pods that are shown.
    pub(crate) fn uids(&self) -> Vec<PodUid> {
        self.lock().pods.keys().cloned().collect()
    }

    /// The pods of these sources.
    pub(crate) fn of_sources(&self, sources: &BTreeSet<SourceName>) -> Vec<(SourceName, PodSummary)> {
        let inner = self.lock();
        let of_source = |(uid, entry): (&PodUid, &Entry)| {
            let source = SourceName::from(static_pod::source_of(&entry.pod)?);
            sources.contains(&source).then(|| {
                let (full_name, status) = (PodFullName::of(&entry.pod), entry.status.clone());
                (source, PodSummary { full_name, uid: uid.clone(), status, version: entry.version })
            })
        };
        inner.pods.iter().filter_map(of_source).collect()
    }

    pub(crate) fn put_node(&self, node: Arc<Node>, unhealthy: Vec<String>) {
        let mut inner = self.lock();
        inner.node = node;
        inner.unhealthy = unhealthy;
    }

    pub(crate) fn put_stats(&self, stats: AgentStats) {
        self.lock().stats = stats;
    }

    /// Has all others learn of a change.
    fn report(&self, entry: &mut Entry) {
        self.sink.report(entry.report());
        entry.changed = self.changed();
    }

    /// Counts a change. Called while the store is locked, so that who sees the number sees the change, too.
    fn changed(&self) -> u64 {
        let mut number = 0;
        self.changes.send_modify(|changes| {
            *changes += 1;
            number = *changes;
        });
        number
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What pods and their statuses say, counted.
impl MetricsSource for PodStatusStore {
    fn write(&self, to: &mut Exposition) {
        let (mut ephemeral, mut in_progress) = (0, 0);
        let mut pending = BTreeMap::<String, u64>::new();
        {
            let inner = self.lock();
            for entry in inner.pods.values() {
                ephemeral += ephemeral_containers(&entry.pod).len();
                let status = entry.status.as_deref().or(entry.pod.status.as_ref());
                for condition in status.and_then(|status| status.conditions.as_ref()).into_iter().flatten() {
                    match condition.type_.as_str() {
                        "PodResizeInProgress" => in_progress += 1,
                        "PodResizePending" => {
                            let reason = condition.reason.as_deref().unwrap_or_default().to_lowercase();
                            *pending.entry(reason).or_default() += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        let help = "[ALPHA] Current number of ephemeral containers in pods managed by this kubelet.";
        to.gauge("kubelet_managed_ephemeral_containers", help, ephemeral as f64);
        let help = "[ALPHA] Number of in-progress resizes for pods.";
        to.gauge("kubelet_pod_in_progress_resizes", help, f64::from(in_progress));
        let help = "[ALPHA] Number of pending resizes for pods.";
        let mut family = to.family("kubelet_pod_pending_resizes", help, Kind::Gauge);
        for (reason, count) in &pending {
            family.sample(&[("reason", reason)], *count as f64);
        }
    }
}

impl AgentView for PodStatusStore {
    fn pods(&self) -> Vec<Arc<Pod>> {
        // Reading pods must not hold the lock while statuses are merged in.
        let entries: Vec<ShownPod> = self.lock().pods.values().map(Entry::shown).collect();
        let mut pods: Vec<Arc<Pod>> = entries.into_iter().map(ShownPod::into_pod).collect();
        pods.sort_by_cached_key(|pod| (PodFullName::of(pod), PodUid::of(pod)));
        pods
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        let is_named = |pod: &Pod| {
            pod.metadata.name.as_deref() == Some(name) && pod.metadata.namespace.as_deref() == Some(namespace)
        };
        let inner = self.lock();
        let named = inner.pods.values().filter(|entry| is_named(&entry.pod));
        let entry = named.min_by_key(|entry| entry.pod.metadata.deletion_timestamp.is_some())?;
        let found = entry.shown();
        drop(inner);
        Some(found.into_pod())
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.events.events()
    }

    fn events_after(&self, version: u64) -> EventPage {
        self.events.events_after(version)
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.events.changes()
    }

    fn pods_after(&self, version: u64) -> PodPage {
        let inner = self.lock();
        let newer = inner.pods.values().filter(|entry| entry.changed > version);
        let mut changed: Vec<ShownPod> = newer.map(Entry::shown).collect();
        let left = (inner.removed > version).then(|| inner.pods.keys().cloned().collect());
        let version = *self.changes.borrow();
        drop(inner);
        changed.sort_by_cached_key(|shown| (PodFullName::of(&shown.pod), PodUid::of(&shown.pod)));
        PodPage { changed, left, version }
    }

    fn pod_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn node(&self) -> Arc<Node> {
        self.lock().node.clone()
    }

    fn unhealthy(&self) -> Vec<String> {
        self.lock().unhealthy.clone()
    }

    fn stats(&self) -> AgentStats {
        self.lock().stats.clone()
    }

    fn thresholds(&self) -> Vec<ThresholdState> {
        self.lock().thresholds.clone()
    }
}

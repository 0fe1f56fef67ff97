//! The eviction manager's task: measures what the decision asks for and carries out what it says. Pods are ended by the event loop.
//!
//! What is decided is decided by `witlet_core::eviction`; nothing here waits on the loop's own time.

mod storage;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::eviction::{
    Candidate, EXCEEDED_GRACE_PERIOD, EXCEEDED_GRACE_PERIOD_MESSAGE, Eviction, EvictionConfig,
    EvictionManager, Filesystems, Found, MONITORING_PERIOD, NOTIFIED_PERIOD, NodeReclaim, Observations,
    Outcome, POD_CLEANUP_TIMEOUT, StarvedResource, Step, THRESHOLD_MET, has_limits, ignored, ineffective,
    observations,
};
use witlet_core::node::conditions::Pressures;
use witlet_core::node::measured::NodeUsage;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::stats::{PodUsages, combine};
use witlet_ports::{
    Clock, EventSink, KernelMeter, MemoryNotifier, NodeReader, PodView, RuntimeStats, StorageMeter,
};

use crate::event_log::EventLog;
use crate::executor::events::PodEvents;
use crate::handlers_node::LastUsage;
use crate::image_gc::ImageGc;
use crate::pod_status_store::PodStatusStore;
use storage::StorageCache;
use usage::PodMeter;

/// How often it is checked whether an evicted pod is gone (upstream: `podCleanupPollFreq`).
const POD_CLEANUP_POLL: Duration = Duration::from_secs(1);
/// A pod has at least this long to end before its end is reported (upstream: `minTimeout` of `killPodNow`).
const KILL_TIMEOUT_MIN: Duration = Duration::from_secs(10);
/// What the node gives back is waited for so long; the next round sees what came later.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(120);
/// Requests that may wait for the event loop.
const REQUESTS_MAX: usize = 4;

/// What evictions are decided on, and what the node can give back.
#[derive(Clone)]
pub struct EvictionPorts {
    /// What the node has left.
    pub node_reader: Arc<dyn NodeReader>,
    /// What the kernel counts of pods.
    pub kernel: Arc<dyn KernelMeter>,
    /// What writable layers take; and all that containers use where the kernel doesn't count it.
    pub stats: Arc<dyn RuntimeStats>,
    /// What pods' folders take.
    pub storage: Arc<dyn StorageMeter>,
    /// Reports shortages of memory between two checks.
    pub notifier: Arc<dyn MemoryNotifier>,
}

/// What the agent knows of its pods.
pub(crate) struct KnownPods {
    pub(crate) view: Arc<dyn PodView>,
    /// What was published of them.
    pub(crate) statuses: Arc<PodStatusStore>,
}

/// What the event loop is asked to do.
#[derive(Debug)]
pub(crate) enum EvictionRequest {
    /// Say which pods may be evicted.
    Candidates(oneshot::Sender<Vec<Candidate>>),
    /// Say which evicted pods still have something of the node's.
    Ending(oneshot::Sender<Vec<EndingPod>>),
    /// These pressures hold from now on.
    Pressures(Pressures),
    Evict(Box<Eviction>),
    /// Remove all containers of pods that have ended, and say when that is done.
    RemoveEnded(oneshot::Sender<()>),
}

/// An evicted pod whose containers may run, or whose volumes aren't gone.
#[derive(Debug)]
pub(crate) struct EndingPod {
    pub(crate) uid: PodUid,
    pub(crate) full_name: PodFullName,
    pub(crate) may_run: bool,
}

/// The loop that reads it ended.
struct LoopEnded;

/// The task.
pub(crate) struct Evictor {
    ports: EvictionPorts,
    images: ImageGc,
    meter: PodMeter,
    events: Arc<EventLog>,
    clock: Arc<dyn Clock>,
    statuses: Arc<PodStatusStore>,
    requests: mpsc::Sender<EvictionRequest>,
    /// What each check says of the node's use, for admission handlers.
    usage: watch::Sender<LastUsage>,
    manager: EvictionManager,
    storage: StorageCache,
    reported: Option<Pressures>,
    /// Thresholds that were met in the last round.
    met: BTreeSet<String>,
    /// How often evicted pods that are still there were waited for in vain.
    waits: BTreeMap<PodUid, u32>,
    /// The kernel couldn't be asked for reports the last time, which was logged.
    is_polling_only: bool,
}

impl Evictor {
    /// The task, and the requests that the event loop takes.
    pub(crate) fn new(
        ports: EvictionPorts,
        images: ImageGc,
        config: EvictionConfig,
        KnownPods { view, statuses }: KnownPods,
        events: Arc<EventLog>,
        clock: Arc<dyn Clock>,
        usage: watch::Sender<LastUsage>,
    ) -> (Self, mpsc::Receiver<EvictionRequest>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_MAX);
        let storage = StorageCache::new(ports.storage.clone());
        for words in ignored(&config.thresholds).into_iter().chain(ineffective(&config.thresholds)) {
            tracing::warn!(reason = words, "Eviction manager: threshold has no effect");
        }
        let manager = EvictionManager::new(config);
        let meter = PodMeter { kernel: ports.kernel.clone(), runtime: ports.stats.clone(), view };
        let evictor = Self {
            ports,
            images,
            meter,
            events,
            clock,
            statuses,
            requests,
            usage,
            manager,
            storage,
            reported: None,
            met: BTreeSet::new(),
            waits: BTreeMap::new(),
            is_polling_only: false,
        };
        (evictor, receiver)
    }

    /// Runs until `stop` is cancelled.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        if !self.manager.is_needed() {
            // No threshold, no pressure, for good.
            let none = Pressures { memory: Some(false), disk: Some(false), pid: Some(false) };
            let _ended = self.requests.send(EvictionRequest::Pressures(none)).await;
            _ = stop.run_until_cancelled(self.observe_regularly()).await;
            return;
        }
        // A loop that has ended has nothing more to end.
        let _ended = stop.run_until_cancelled(self.rounds()).await;
        stop.cancelled().await;
    }

    async fn rounds(&mut self) -> LoopEnded {
        let mut evicted = Vec::new();
        loop {
            if let Err(ended) = self.wait_until_gone(evicted).await {
                return ended;
            }
            evicted = match self.round().await {
                Ok(evicted) => evicted,
                Err(ended) => return ended,
            };
            if evicted.is_empty() {
                // What was reported during the round counts, too: that may have checked before.
                sleep(NOTIFIED_PERIOD).await;
                let rest = MONITORING_PERIOD.saturating_sub(NOTIFIED_PERIOD);
                let _notified = timeout(rest, self.ports.notifier.notified()).await;
            }
        }
    }

    /// Checks the node for those who want to know what it uses. Never ends.
    async fn observe_regularly(&self) {
        loop {
            _ = self.observe().await;
            sleep(MONITORING_PERIOD).await;
        }
    }

    /// Has the kernel report shortages from now on. Where it can't, they are noticed at the next check.
    async fn watch_memory(&mut self) {
        let watches = self.manager.memory_watches();
        if watches.is_empty() {
            return;
        }
        let failed = self.ports.notifier.watch(&watches).await.err();
        if let Some(error) = &failed
            && !self.is_polling_only
        {
            tracing::warn!(
                error = one_line(error),
                period = ?MONITORING_PERIOD,
                "Eviction manager: failed to subscribe to memory pressure of the kernel, polling instead"
            );
        }
        self.is_polling_only = failed.is_some();
    }

    /// One round; gives the pods that were evicted, now or before, and have yet to end.
    async fn round(&mut self) -> Result<Vec<Waited>, LoopEnded> {
        // Asked first: an evicted pod that is admitted between both questions, after a restart, is among those that end.
        let mut pods = self.candidates().await?;
        let ending = self.ending().await?;
        self.waits.retain(|uid, _| ending.iter().any(|pod| pod.uid == *uid));
        let (mut known, new): (Vec<EndingPod>, Vec<EndingPod>) =
            ending.into_iter().partition(|pod| self.waits.contains_key(&pod.uid));
        if !new.is_empty() {
            // A restarted agent goes on waiting for what the one before evicted.
            return Ok(new.into_iter().map(Waited::since_before).collect());
        }
        for pod in &mut pods {
            pod.waits = self.waits.get(&pod.uid).copied().unwrap_or(0);
        }
        let limited = pods.iter().filter(|pod| pod.is_evictable() && has_limits(&pod.pod));
        self.storage.refresh(limited.map(|pod| pod.pod.clone()).collect());
        // Before the check, so that nothing is missed between both.
        self.watch_memory().await;
        let (seen, filesystems) = self.observe().await;
        let mut outcome = self.manager.begin(seen, filesystems, &pods, self.clock.now());
        self.show_thresholds();
        self.report_pressures().await?;
        loop {
            let Outcome { attempting, step } = outcome;
            if let Some(resource) = attempting {
                self.tell_of_attempt(resource);
            }
            let found = match step {
                Step::Rest => return Ok(Vec::new()),
                Step::Evict(evictions) => return self.evict(evictions).await,
                Step::Wait(uid) => {
                    known.retain(|pod| pod.uid == uid);
                    return Ok(known.into_iter().map(Waited::since_before).collect());
                }
                Step::MeasureLimited { containers: true } => {
                    self.meter.layers(self.storage.known()).await.map(Found::Limited)
                }
                Step::MeasureLimited { containers: false } => Ok(Found::Limited(self.volumes(&pods))),
                Step::MeasureAll(resource) => {
                    if matches!(resource, StarvedResource::EphemeralStorage | StarvedResource::Inodes) {
                        let all = pods.iter().map(|pod| pod.pod.clone()).collect();
                        self.storage.measure_now(all).await;
                    }
                    self.meter.usages(resource, self.storage.known()).await.map(Found::All)
                }
                Step::Reclaim(reclaims) => {
                    for reclaim in reclaims {
                        self.reclaim(*reclaim).await?;
                    }
                    Ok(Found::Node(Some(self.observe().await.0)))
                }
            };
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    tracing::error!(
                        error = one_line(&error),
                        "Eviction manager: failed to get summary stats"
                    );
                    return Ok(Vec::new());
                }
            };
            outcome = self.manager.advance(found, &pods);
        }
    }

    /// Shows how far the thresholds are away, and logs those that are met from now on.
    fn show_thresholds(&mut self) {
        let states = self.manager.states();
        let met = states.iter().filter(|state| state.met_since.is_some());
        let met: BTreeSet<String> = met.map(|state| state.threshold.to_string()).collect();
        for threshold in met.difference(&self.met) {
            tracing::warn!(
                threshold,
                "Eviction threshold is met: pods may be evicted and new ones refused; `witlet get node` shows how much is left"
            );
        }
        self.met = met;
        self.statuses.put_thresholds(states);
    }

    async fn observe(&self) -> (Observations, Option<Filesystems>) {
        let readings = self.ports.node_reader.read().await;
        let now = Instant::now();
        self.usage.send_modify(|last| {
            let before = last.as_ref().map(|(at, usage)| (usage, now.saturating_duration_since(*at)));
            *last = Some((now, NodeUsage::of(&readings, before)));
        });
        (observations(&readings, self.clock.now()), readings.filesystems)
    }

    /// Returns the disk usage of these pods' volumes.
    fn volumes(&self, pods: &[Candidate]) -> PodUsages {
        let uids = pods.iter().map(|pod| pod.uid.clone());
        combine(uids, [], &BTreeMap::new(), &BTreeMap::new(), self.storage.known())
    }

    async fn reclaim(&self, reclaim: NodeReclaim) -> Result<(), LoopEnded> {
        match reclaim {
            NodeReclaim::Images => match timeout(RECLAIM_TIMEOUT, self.images.delete_unused()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(
                        error = one_line(&error),
                        "Eviction manager: failed to remove unused images"
                    );
                }
                Err(_) => tracing::warn!("Eviction manager: removing unused images takes long"),
            },
            NodeReclaim::Containers => {
                let (sender, removed) = oneshot::channel();
                self.send(EvictionRequest::RemoveEnded(sender)).await?;
                // A clean-up that panicked answers, too: its end of the channel is gone.
                let _removed = timeout(RECLAIM_TIMEOUT, removed).await;
            }
        }
        Ok(())
    }

    async fn evict(&self, evictions: Vec<Eviction>) -> Result<Vec<Waited>, LoopEnded> {
        let mut waited = Vec::new();
        for eviction in evictions {
            waited.push(Waited::of(&eviction));
            self.send(EvictionRequest::Evict(Box::new(eviction))).await?;
        }
        Ok(waited)
    }

    /// Waits for evicted pods and their volumes, for a bounded time, and tells of those that don't end in theirs.
    async fn wait_until_gone(&mut self, mut evicted: Vec<Waited>) -> Result<(), LoopEnded> {
        let begun = Instant::now();
        let most = evicted.iter().map(|pod| pod.timeout).fold(POD_CLEANUP_TIMEOUT, Duration::max);
        while !evicted.is_empty() {
            sleep(POD_CLEANUP_POLL).await;
            let there: BTreeMap<PodUid, bool> =
                self.ending().await?.into_iter().map(|pod| (pod.uid, pod.may_run)).collect();
            evicted.retain(|pod| there.contains_key(&pod.uid));
            for pod in &mut evicted {
                let is_late = begun.elapsed() >= pod.timeout && there.get(&pod.uid) == Some(&true);
                if is_late && !std::mem::replace(&mut pod.is_reported, true) {
                    PodEvents::new(&*self.events, &pod.full_name, &pod.uid)
                        .warning(EXCEEDED_GRACE_PERIOD, EXCEEDED_GRACE_PERIOD_MESSAGE);
                }
            }
            if begun.elapsed() >= most {
                let pods: Vec<String> = evicted.iter().map(|pod| pod.full_name.to_string()).collect();
                tracing::warn!(?pods, "Eviction manager: timed out waiting for pods to be cleaned up");
                for pod in evicted {
                    let waits = self.waits.entry(pod.uid).or_default();
                    *waits = waits.saturating_add(1);
                }
                break;
            }
        }
        Ok(())
    }

    async fn candidates(&self) -> Result<Vec<Candidate>, LoopEnded> {
        let (sender, candidates) = oneshot::channel();
        self.send(EvictionRequest::Candidates(sender)).await?;
        candidates.await.map_err(|_| LoopEnded)
    }

    async fn ending(&self) -> Result<Vec<EndingPod>, LoopEnded> {
        let (sender, ending) = oneshot::channel();
        self.send(EvictionRequest::Ending(sender)).await?;
        ending.await.map_err(|_| LoopEnded)
    }

    async fn report_pressures(&mut self) -> Result<(), LoopEnded> {
        let pressures = self.manager.pressures();
        if self.reported != Some(pressures) {
            self.reported = Some(pressures);
            self.send(EvictionRequest::Pressures(pressures)).await?;
        }
        Ok(())
    }

    async fn send(&self, request: EvictionRequest) -> Result<(), LoopEnded> {
        self.requests.send(request).await.map_err(|_| LoopEnded)
    }

    fn tell_of_attempt(&self, resource: StarvedResource) {
        let message = format!("Attempting to reclaim {resource}");
        self.events.record(Event::warning(EventObject::Node, THRESHOLD_MET, message));
    }
}

/// An evicted pod that is waited for.
struct Waited {
    uid: PodUid,
    full_name: PodFullName,
    /// When its end is late.
    timeout: Duration,
    is_reported: bool,
}

impl Waited {
    fn of(eviction: &Eviction) -> Self {
        // One and a half of its grace.
        let grace = u64::try_from(eviction.grace_seconds).unwrap_or(0);
        let timeout = Duration::from_secs(grace).saturating_mul(3) / 2;
        Self {
            uid: eviction.uid.clone(),
            full_name: PodFullName::of(&eviction.pod),
            timeout: timeout.max(KILL_TIMEOUT_MIN),
            is_reported: false,
        }
    }

    fn since_before(pod: EndingPod) -> Self {
        let EndingPod { uid, full_name, .. } = pod;
        Self { uid, full_name, timeout: KILL_TIMEOUT_MIN, is_reported: true }
    }
}

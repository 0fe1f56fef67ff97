//! The loop that decides. It handles one event at a time, changes its own state, and starts tasks; it never waits for
//! a plugin, the runtime, the disk or the network.

mod admit;
mod clean_up;
mod edit;
mod eviction;
mod preempt;
mod readmit;
mod recheck;
mod record;
mod reject;
mod resize;
mod sources;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use k8s_openapi::api::core::v1::Node;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::AdmittedPod;
use witlet_core::admission::readmit::Readmissions;
use witlet_core::admission::recheck::Rechecks;
use witlet_core::admission::rejections::RejectionHistory;
use witlet_core::container::gc::FailureReports;
use witlet_core::event::{Event as NodeEvent, EventObject, EventType};
use witlet_core::node::NodeFacts;
use witlet_core::node::conditions::Pressures;
use witlet_core::node::published::{NodeInput, PublishedNode, publish};
use witlet_core::pod::static_pod::StaticPodQueue;
use witlet_core::pod::user_namespace::UserNamespaces;
use witlet_core::pod::{PodUid, SourceName};
use witlet_core::sources::MergedPods;
use witlet_ports::{Admission, AgentStats, Clock, EventSink, Jitter, PodFiles, Tracer};

use crate::admission_queue::AdmissionQueue;
use crate::cache::PodCache;
use crate::checkpoints::Loaded;
use crate::executor::Executor;
use crate::handlers_node::HandlersNode;
use crate::health::Health;
use crate::housekeeping::Housekeeper;
use crate::inputs::{Event, Gates, Inputs};
use crate::metrics::{PodMetrics, ResizeMetrics};
use crate::pleg::Relisted;
use crate::pod_status_store::PodStatusStore;
use crate::prober::ProberHandle;
use crate::removals::Removals;
use crate::resource_table::ResourceTable;
use crate::settings::AgentSettings;
use crate::tasks::end_within;
use crate::work_queue::WorkQueue;
use record::PodRecord;

/// The ports of the event loop.
pub(crate) struct Outside {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) events: Arc<dyn EventSink>,
    /// A cluster's edge reports the node's conditions.
    pub(crate) is_in_cluster: bool,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) files: Arc<dyn PodFiles>,
    pub(crate) removals: Arc<Removals>,
    /// What pods were allocated.
    pub(crate) allocated: Arc<ResourceTable>,
    /// What running containers were last given.
    pub(crate) actuated: Arc<ResourceTable>,
    pub(crate) metrics: Arc<PodMetrics>,
    pub(crate) resizes: Arc<ResizeMetrics>,
    pub(crate) tracer: Tracer,
    pub(crate) housekeeper: Arc<Housekeeper>,
    pub(crate) prober: ProberHandle,
    pub(crate) statuses: Arc<PodStatusStore>,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) node: watch::Receiver<Arc<NodeFacts>>,
    pub(crate) handlers_node: HandlersNode,
    pub(crate) relisted: watch::Receiver<Relisted>,
    pub(crate) pleg_dropped: Arc<AtomicU64>,
}

/// The loop's state.
pub(crate) struct EventLoop {
    settings: AgentSettings,
    outside: Outside,
    /// Sources that have to be seen before anything is cleaned up.
    sources: BTreeSet<SourceName>,
    /// Sources of plugins: until they are seen, pods that may be theirs are left alone.
    plugin_sources: BTreeSet<SourceName>,
    /// Sources of which a part could never be read.
    partial: BTreeSet<SourceName>,
    merged: MergedPods,
    /// All that is known of pods, each in one place.
    pods: BTreeMap<PodUid, PodRecord>,
    user_namespaces: UserNamespaces,
    statics: StaticPodQueue,
    due: WorkQueue,
    queue: AdmissionQueue,
    /// When the queue wants to be asked again.
    admission_due: Option<Instant>,
    /// Those that a controller makes again.
    rejections: RejectionHistory,
    /// When running pods are asked about again.
    rechecks: Rechecks,
    /// Which handlers were asked about pods that ran before the start.
    readmissions: Readmissions,
    /// How many pods were admitted.
    admissions: u64,
    /// The admitted pods, as handlers see them; none after a change.
    others: Option<Arc<[AdmittedPod]>>,
    health: Health,
    node: Arc<Node>,
    pressures: Option<Pressures>,
    /// Who waits for a clean-up that hasn't begun to take what ended pods have left: one at most, because the eviction manager waits for each.
    removals_requested: Vec<oneshot::Sender<()>>,
    /// Who waits for the one that runs.
    removals_running: Vec<oneshot::Sender<()>>,
    stats: AgentStats,
    begun: Instant,
    cleaning: bool,
    /// Why the last clean-up couldn't list what is on the disk, if it couldn't.
    clean_up_failure: Option<String>,
    gc_failures: FailureReports,
    stopping: Option<Instant>,
    tasks: JoinSet<Event>,
    cancel_work: CancellationToken,
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    GoOn,
    End,
}

impl EventLoop {
    pub(crate) fn new(
        settings: AgentSettings,
        outside: Outside,
        sources: BTreeSet<SourceName>,
        loaded: Loaded,
    ) -> Self {
        let Loaded { checkpoints, user_namespaces } = loaded;
        let known = checkpoints
            .into_iter()
            .map(|(uid, checkpoint)| (uid, PodRecord { checkpoint, ..PodRecord::default() }));
        Self {
            settings,
            outside,
            sources,
            plugin_sources: BTreeSet::new(),
            partial: BTreeSet::new(),
            merged: MergedPods::default(),
            pods: known.collect(),
            user_namespaces,
            statics: StaticPodQueue::default(),
            due: WorkQueue::default(),
            queue: AdmissionQueue::default(),
            admission_due: None,
            rejections: RejectionHistory::default(),
            rechecks: Rechecks::default(),
            readmissions: Readmissions::default(),
            admissions: 0,
            others: None,
            health: Health::unknown(),
            node: Arc::default(),
            pressures: None,
            removals_requested: Vec::new(),
            removals_running: Vec::new(),
            stats: AgentStats::default(),
            begun: Instant::now(),
            cleaning: false,
            clean_up_failure: None,
            gc_failures: FailureReports::default(),
            stopping: None,
            tasks: JoinSet::new(),
            cancel_work: CancellationToken::new(),
        }
    }

    /// Runs until the agent is stopped and, if its pods are to end with it, they have.
    pub(crate) async fn run(mut self, mut inputs: Inputs) {
        self.record_node_event(EventType::Normal, "Starting", "Starting kubelet.".to_owned());
        self.publish_node();
        self.plugin_sources = inputs.plugin_sources.now();
        loop {
            let gates = Gates {
                runtime_ready: self.health.is_ready(),
                stopping: self.stopping,
                admission_due: self.admission_due,
            };
            let event = inputs.next(&mut self.tasks, gates).await;
            let begun = Instant::now();
            let flow = self.handle(event);
            self.stats.longest_pause = self.stats.longest_pause.max(begun.elapsed());
            self.stats.events_handled += 1;
            self.publish_stats();
            if flow == Flow::End {
                break;
            }
        }
        // Running work comes to its next step and ends there.
        self.cancel_work.cancel();
        end_within(self.tasks, self.settings.stop_wait_max).await;
    }

    /// Takes one event in. Never waits.
    fn handle(&mut self, event: Event) -> Flow {
        match event {
            Event::Source(event) => self.source_changed(event),
            Event::Sources(names) => self.plugin_sources_changed(&names),
            Event::Pleg(event) => self.runtime_changed(&event),
            Event::Probe(update) => self.probe_changed(&update),
            Event::Verdict(id, decision) => self.judged(id, decision),
            Event::WorkEnded(end) => self.work_ended(*end),
            Event::CleanedUp(failure) => self.cleaned_up(failure),
            Event::Health(health) => {
                self.health = health;
                self.publish_node();
            }
            Event::Node => self.node_changed(),
            Event::Handlers => {
                self.queue.handlers_changed();
                self.reconsider_edits();
                self.reconsider_images();
                self.recheck_soon();
            }
            Event::Objects(uids) => self.sync_pods(&uids),
            Event::Eviction(request) => self.eviction_requested(request),
            Event::SyncTick => {
                self.sync_due();
                self.recheck_due();
                self.readmit_due();
            }
            Event::Housekeeping => self.housekeep(),
            Event::Forgotten | Event::AdmissionDue => {}
            Event::Stop if !self.settings.stop_pods_on_exit => return Flow::End,
            Event::Stop => self.stop_pods(),
            Event::StopOverdue => {
                tracing::warn!("Pods did not terminate in time");
                return Flow::End;
            }
        }
        self.judge();
        let is_at_work = || self.pods.values().any(|record| record.life.is_at_work());
        if self.stopping.is_some() && !is_at_work() { Flow::End } else { Flow::GoOn }
    }

    /// Every source of the agent's own has sent a set: what none of them has may be removed.
    fn all_sources_seen(&self) -> bool {
        self.sources.iter().all(|source| self.merged.is_seen(source))
    }

    /// Every source of a plugin has, too.
    fn plugin_sources_seen(&self) -> bool {
        self.plugin_sources.iter().all(|source| self.merged.is_seen(source))
    }

    /// Starts a task next to the loop. If it panics, the loop receives the event given for that.
    fn spawn(&mut self, work: impl Future<Output = Event> + Send + 'static, if_it_panics: Event) {
        self.tasks.spawn(async move {
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(event = ?if_it_panics, "Task panicked");
                if_it_panics
            })
        });
    }

    fn node_changed(&mut self) {
        self.queue.world_changed();
        self.publish_node();
        self.reconsider_resizes();
        self.note_node_for_rechecks();
    }

    fn publish_node(&mut self) {
        let facts = self.outside.node.borrow().clone();
        let PublishedNode { node, readiness, pressures } = publish(NodeInput {
            machine: &facts.node,
            before: &self.node,
            problems: &self.health.problems(),
            handlers: &self.health.handlers,
            pressures: self.pressures,
            now: self.outside.clock.now(),
        });
        self.node = Arc::new(node);
        // In a cluster pressures are reported where the API server's object changes.
        let pressures = pressures.into_iter().filter(|_| !self.outside.is_in_cluster);
        for reason in pressures.chain(readiness) {
            let message = format!("Node {} status is now: {reason}", facts.name);
            self.record_node_event(EventType::Normal, reason, message);
        }
        self.publish_health();
    }

    fn record_node_event(&self, kind: EventType, reason: &str, message: String) {
        self.outside.events.record(NodeEvent::new(EventObject::Node, kind, reason, message));
    }

    fn publish_health(&self) {
        let errors = || self.pods.values().filter_map(|record| record.unsaved.as_ref());
        let unsaved = errors().next().map(|error| {
            let count = errors().count();
            format!("failed to save the state of {count} pods, no new pod can start: {error}")
        });
        let problems = self.health.problems().into_iter().chain(unsaved).collect();
        self.outside.statuses.put_node(self.node.clone(), problems);
    }

    fn publish_stats(&mut self) {
        self.stats.pleg_events_dropped = self.outside.pleg_dropped.load(Ordering::Relaxed);
        self.stats.admission_queue = self.queue.len();
        self.stats.deferred = self.queue.deferred();
        self.stats.rejections_waiting = self.queue.held();
        self.stats.probes = self.outside.prober.totals();
        self.stats.sources_ready = self.all_sources_seen() && self.plugin_sources_seen();
        self.outside.statuses.put_sources_seen(self.stats.sources_ready && self.partial.is_empty());
        self.outside.statuses.put_stats(self.stats.clone());
    }
}

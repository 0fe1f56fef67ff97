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
mod state;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event as NodeEvent, EventObject, EventType};
use witlet_core::node::NodeFacts;
use witlet_core::node::published::{NodeInput, PublishedNode, publish};
use witlet_core::pod::static_pod::StaticPodQueue;
use witlet_core::pod::user_namespace::UserNamespaces;
use witlet_core::pod::{PodUid, SourceName};
use witlet_ports::{Admission, AgentStats, Clock, EventSink, Jitter, PodFiles, Tracer};

use crate::cache::PodCache;
use crate::checkpoints::Loaded;
use crate::executor::Executor;
use crate::handlers_node::HandlersNode;
use crate::housekeeping::Housekeeper;
use crate::inputs::{Event, Gates, Inputs};
use crate::metrics::{PodMetrics, ResizeMetrics};
use crate::pleg::Relisted;
use crate::pod_status_store::PodStatusStore;
use crate::prober::ProberHandle;
use crate::recheck_ends::RecheckEndsFile;
use crate::removals::Removals;
use crate::resource_table::ResourceTable;
use crate::settings::AgentSettings;
use crate::tasks::end_within;
use crate::work_queue::WorkQueue;
use record::PodRecord;
use state::{AdmissionState, CleanUps, NodeState, Sources};

/// The ports of the event loop.
pub(crate) struct Outside {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) events: Arc<dyn EventSink>,
    /// A cluster's edge reports the node's conditions.
    pub(crate) is_in_cluster: bool,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) recheck_ends: Arc<RecheckEndsFile>,
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
    sources: Sources,
    /// All that is known of pods, each in one place.
    pods: BTreeMap<PodUid, PodRecord>,
    user_namespaces: UserNamespaces,
    statics: StaticPodQueue,
    due: WorkQueue,
    admission: AdmissionState,
    node: NodeState,
    clean_ups: CleanUps,
    stats: AgentStats,
    begun: Instant,
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
        let mut admission = AdmissionState::default();
        admission.rechecks.restore_ends(outside.recheck_ends.ages(outside.clock.now()));
        Self {
            settings,
            outside,
            sources: Sources { own: sources, ..Sources::default() },
            pods: known.collect(),
            user_namespaces,
            statics: StaticPodQueue::default(),
            due: WorkQueue::default(),
            admission,
            node: NodeState::unknown(),
            clean_ups: CleanUps::default(),
            stats: AgentStats::default(),
            begun: Instant::now(),
            stopping: None,
            tasks: JoinSet::new(),
            cancel_work: CancellationToken::new(),
        }
    }

    /// Runs until the agent is stopped and, if its pods are to end with it, they have.
    pub(crate) async fn run(mut self, mut inputs: Inputs) {
        self.record_node_event(EventType::Normal, "Starting", "Starting kubelet.".to_owned());
        self.publish_node();
        self.sources.of_plugins = inputs.plugin_sources.now();
        loop {
            let gates = Gates {
                runtime_ready: self.node.health.is_ready(),
                stopping: self.stopping,
                admission_due: self.admission.due,
            };
            let event = inputs.next(&mut self.tasks, gates).await;
            let begun = Instant::now();
            let flow = self.handle(event);
            self.stats.longest_pause = self.stats.longest_pause.max(begun.elapsed());
            self.stats.events_handled += 1;
            self.stats.last_event = Some(Instant::now());
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
                self.node.health = health;
                self.publish_node();
            }
            Event::Node => self.node_changed(),
            Event::Handlers => {
                self.admission.queue.handlers_changed();
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
                self.warn_of_pods_left();
                return Flow::End;
            }
        }
        self.judge();
        let is_at_work = || self.pods.values().any(|record| record.life.is_at_work());
        if self.stopping.is_some() && !is_at_work() { Flow::End } else { Flow::GoOn }
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
        self.admission.queue.world_changed();
        self.publish_node();
        self.reconsider_resizes();
        self.note_node_for_rechecks();
    }

    fn publish_node(&mut self) {
        let facts = self.outside.node.borrow().clone();
        let PublishedNode { node, readiness, pressures } = publish(NodeInput {
            machine: &facts.node,
            before: &self.node.object,
            problems: &self.node.health.problems(),
            handlers: &self.node.health.handlers,
            pressures: self.node.pressures,
            now: self.outside.clock.now(),
        });
        self.node.object = Arc::new(node);
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
        let problems = self.node.health.problems().into_iter().chain(unsaved).collect();
        self.outside.statuses.put_node(self.node.object.clone(), problems);
    }

    fn publish_stats(&mut self) {
        self.stats.pleg_events_dropped = self.outside.pleg_dropped.load(Ordering::Relaxed);
        self.stats.admission_queue = self.admission.queue.len();
        self.stats.deferred = self.admission.queue.deferred();
        self.stats.rejections_waiting = self.admission.queue.held();
        self.stats.probes = self.outside.prober.totals();
        self.stats.sources_ready = self.sources.all_are_seen();
        self.outside.statuses.put_sources_seen(self.stats.sources_ready && self.sources.partial.is_empty());
        self.outside.statuses.put_stats(self.stats.clone());
    }
}

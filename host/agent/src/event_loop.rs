//! The loop that decides. It hears one event at a time, changes its own state, and starts tasks; it never waits for
//! a plugin, the runtime, the disk or the network.

mod admit;
mod clean_up;
mod eviction;
mod preempt;
mod record;
mod removals;
mod resize;
mod sources;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::AdmittedPod;
use witlet_core::config::MergedConfig;
use witlet_core::event::{Event as NodeEvent, EventObject, EventType};
use witlet_core::node::NodeFacts;
use witlet_core::node::conditions::Pressures;
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::static_pod::StaticPodQueue;
use witlet_core::pod::user_namespace::UserNamespaces;
use witlet_core::pod::{PodUid, SourceName};
use witlet_ports::{Admission, AgentStats, Clock, EventSink, Jitter};

use crate::admission_queue::AdmissionQueue;
use crate::board::Board;
use crate::cache::PodCache;
use crate::checkpoints::Loaded;
use crate::config::AgentConfig;
use crate::executor::Executor;
use crate::health::{self, Health};
use crate::inputs::{Event, Gates, Inputs};
use crate::pleg::Relisted;
use crate::prober::ProberHandle;
use crate::tasks::end_within;
use crate::work_queue::WorkQueue;
use record::PodRecord;
use removals::EndedRemovals;

/// What the loop reaches the world through.
pub(crate) struct Outside {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) events: Arc<dyn EventSink>,
    /// A cluster's edge tells of the node's conditions.
    pub(crate) tells_cluster: bool,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) prober: ProberHandle,
    pub(crate) board: Arc<Board>,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) node: watch::Receiver<Arc<NodeFacts>>,
    pub(crate) relisted: watch::Receiver<Relisted>,
    pub(crate) pleg_dropped: Arc<AtomicU64>,
}

/// The loop's state.
pub(crate) struct EventLoop {
    config: AgentConfig,
    outside: Outside,
    /// Sources that have to be seen before anything is cleaned up.
    sources: BTreeSet<SourceName>,
    /// Sources of plugins: until they are seen, pods that may be theirs are left alone.
    plugin_sources: BTreeSet<SourceName>,
    /// Sources of which a part could never be read.
    partial: BTreeSet<SourceName>,
    merged: MergedConfig,
    /// All that is known of pods, each in one place.
    pods: BTreeMap<PodUid, PodRecord>,
    user_namespaces: UserNamespaces,
    statics: StaticPodQueue,
    due: WorkQueue,
    queue: AdmissionQueue,
    /// When the queue wants to be asked again.
    admission_due: Option<Instant>,
    /// How many pods were admitted.
    admissions: u64,
    /// The admitted pods, as handlers see them; none after a change.
    others: Option<Arc<[AdmittedPod]>>,
    health: Health,
    node: Arc<Node>,
    pressures: Option<Pressures>,
    removals: EndedRemovals,
    stats: AgentStats,
    begun: Instant,
    cleaning: bool,
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
        config: AgentConfig,
        outside: Outside,
        sources: BTreeSet<SourceName>,
        loaded: Loaded,
    ) -> Self {
        let Loaded { checkpoints, user_namespaces } = loaded;
        let known = checkpoints
            .into_iter()
            .map(|(uid, checkpoint)| (uid, PodRecord { checkpoint, ..PodRecord::default() }));
        Self {
            config,
            outside,
            sources,
            plugin_sources: BTreeSet::new(),
            partial: BTreeSet::new(),
            merged: MergedConfig::default(),
            pods: known.collect(),
            user_namespaces,
            statics: StaticPodQueue::default(),
            due: WorkQueue::default(),
            queue: AdmissionQueue::default(),
            admission_due: None,
            admissions: 0,
            others: None,
            health: Health::unknown(),
            node: Arc::default(),
            pressures: None,
            removals: EndedRemovals::default(),
            stats: AgentStats::default(),
            begun: Instant::now(),
            cleaning: false,
            stopping: None,
            tasks: JoinSet::new(),
            cancel_work: CancellationToken::new(),
        }
    }

    /// Runs until the agent is told to end and, if its pods are to end with it, they have.
    pub(crate) async fn run(mut self, mut inputs: Inputs) {
        self.tell_of_node(EventType::Normal, "Starting", "Starting kubelet.".to_owned());
        self.show_node();
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
            self.show_stats();
            if flow == Flow::End {
                break;
            }
        }
        // Running work comes to its next step and ends there.
        self.cancel_work.cancel();
        end_within(self.tasks, self.config.stop_wait_max).await;
    }

    /// Takes one event in. Never waits.
    fn handle(&mut self, event: Event) -> Flow {
        match event {
            Event::Source(event) => self.take_source(event),
            Event::Sources(names) => self.take_sources(&names),
            Event::Pleg(event) => {
                if event.is_worth_a_sync() {
                    if let Some(handle) =
                        self.pods.get(&event.uid).and_then(|record| record.worker_handle.as_ref())
                    {
                        tracing::info!(pod = %handle.full_name, ?event, "SyncLoop (PLEG): event for pod");
                    }
                    self.advance(&event.uid, LifeEvent::Look);
                }
            }
            Event::Probe(update) => self.take_probe(&update),
            Event::Verdict(id, decision) => self.take_verdict(id, decision),
            Event::WorkEnded(end) => self.work_ended(*end),
            Event::Forgotten => {}
            Event::CleanedUp => {
                self.cleaning = false;
                self.end_removal();
            }
            Event::Health(health) => {
                self.health = health;
                self.show_node();
            }
            Event::Node => {
                self.queue.world_changed();
                self.show_node();
                self.reconsider_resizes();
            }
            Event::Handlers => self.queue.world_changed(),
            Event::Objects(uids) => self.take_objects(&uids),
            Event::Eviction(request) => self.take_eviction(request),
            Event::SyncTick => {
                for uid in self.due.take_due(Instant::now()) {
                    self.advance(&uid, LifeEvent::Look);
                }
                self.end_overdue();
            }
            Event::Housekeeping => {
                tracing::debug!("SyncLoop (housekeeping)");
                self.clean_up();
                self.show_rejected();
            }
            Event::AdmissionDue => {}
            Event::Stop => return self.stop(),
            Event::StopOverdue => {
                tracing::warn!("some pods did not end in time");
                return Flow::End;
            }
        }
        self.judge();
        if self.stopping.is_some() && !self.is_at_work() {
            return Flow::End;
        }
        Flow::GoOn
    }

    /// Every source of the agent's own has sent a set: what none of them has may be removed.
    fn all_sources_seen(&self) -> bool {
        self.sources.iter().all(|source| self.merged.is_seen(source))
    }

    /// Every source of a plugin has, too.
    fn plugin_sources_seen(&self) -> bool {
        self.plugin_sources.iter().all(|source| self.merged.is_seen(source))
    }

    /// Starts a task beside the loop. Should it panic, the loop hears the event given for that.
    fn spawn(&mut self, work: impl Future<Output = Event> + Send + 'static, if_it_panics: Event) {
        self.tasks.spawn(async move {
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(event = ?if_it_panics, "a task of the agent panicked");
                if_it_panics
            })
        });
    }

    /// Ends the loop, or has all pods end first.
    fn stop(&mut self) -> Flow {
        if !self.config.stop_pods_on_exit {
            return Flow::End;
        }
        self.stopping = Some(Instant::now() + self.config.stop_pods_wait_max);
        self.kill_everything();
        if self.is_at_work() { Flow::GoOn } else { Flow::End }
    }

    fn is_at_work(&self) -> bool {
        self.pods.values().any(|record| record.life.is_at_work())
    }

    fn show_node(&mut self) {
        let facts = self.outside.node.borrow().clone();
        let now = self.outside.clock.now();
        let was_ready = health::ready(&self.node).map(|condition| condition.status == "True");
        let shown = health::node_with_ready(&facts.node, &self.health, &self.node, now);
        self.node = Arc::new(self.with_pressures(shown, now));
        let problems = self.health.problems();
        if was_ready != Some(problems.is_empty()) && (was_ready.is_some() || problems.is_empty()) {
            let reason = if problems.is_empty() { "NodeReady" } else { "NodeNotReady" };
            let message = format!("Node {} status is now: {reason}", facts.name);
            self.tell_of_node(EventType::Normal, reason, message);
        }
        self.show_health();
    }

    fn tell_of_node(&self, kind: EventType, reason: &str, message: String) {
        let (object, reason) = (EventObject::Node, reason.to_owned());
        self.outside.events.record(NodeEvent {
            object,
            kind,
            reason,
            message,
            annotations: Default::default(),
        });
    }

    fn show_health(&self) {
        let errors = || self.pods.values().filter_map(|record| record.unsaved.as_ref());
        let unsaved = errors().next().map(|error| {
            let count = errors().count();
            format!("the state of {count} pods can't be saved, so that new ones can't start: {error}")
        });
        let problems = self.health.problems().into_iter().chain(unsaved).collect();
        self.outside.board.put_node(self.node.clone(), problems);
    }

    fn show_stats(&mut self) {
        self.stats.pleg_events_dropped = self.outside.pleg_dropped.load(Ordering::Relaxed);
        self.stats.admission_queue = self.queue.len();
        self.stats.deferred = self.queue.deferred();
        self.stats.probes = self.outside.prober.totals();
        self.stats.sources_ready = self.all_sources_seen() && self.plugin_sources_seen();
        self.outside.board.put_sources_seen(self.stats.sources_ready && self.partial.is_empty());
        self.outside.board.put_stats(self.stats.clone());
    }
}

//! The agent put together: its ports, its tasks, and the handle that shows it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::memory::AdmissionMemory;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::{
    Admission, AgentStats, AgentView, Clock, EventSink, Jitter, NodeWatch, PodFiles, PodSource,
    RecordedEvent, Runtime, SOURCE_SNAPSHOTS_MAX, SourceSnapshot, StateStore,
};

use crate::board::Board;
use crate::cache::PodCache;
use crate::config::{AgentConfig, PLEG_EVENTS_MAX, PROBE_RESULTS_MAX};
use crate::event_log::EventLog;
use crate::event_loop::{ADMITTED_PODS, EventLoop, Outside};
use crate::executor::Executor;
use crate::executor::images::Images;
use crate::health::{Health, HealthCheck};
use crate::inputs::{FailedProbe, Inputs, ticker};
use crate::pleg::{Pleg, RelistRequests, Relisted};
use witlet_core::error::one_line;

/// What the agent reaches the world through.
pub struct Ports {
    /// The container runtime.
    pub runtime: Runtime,
    /// The admission handlers.
    pub admission: Arc<dyn Admission>,
    /// The folders of pods.
    pub files: Arc<dyn PodFiles>,
    /// Small files that survive a restart.
    pub state: Arc<dyn StateStore>,
    /// Where events go, and where the handle shows them from. Give it to the sources, too.
    pub events: Arc<EventLog>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub jitter: Arc<dyn Jitter>,
    /// The machine.
    pub node: Arc<dyn NodeWatch>,
    /// Where pods come from. Nothing is cleaned up before each of them has sent a set.
    pub sources: Vec<Box<dyn PodSource>>,
    /// Folder that `localhostProfile` of a seccomp profile is relative to: `<root>/seccomp`.
    pub seccomp_root: PathBuf,
}

/// A node agent that is ready to run.
pub struct Agent {
    ports: Ports,
    config: AgentConfig,
    board: Arc<Board>,
    probes: mpsc::Receiver<FailedProbe>,
}

/// Shows what the agent does, and takes probe results. Cheap to clone; outlives the agent.
#[derive(Clone)]
pub struct AgentHandle {
    board: Arc<Board>,
    probes: mpsc::Sender<FailedProbe>,
}

impl AgentHandle {
    /// Where probes tell of containers that have to be restarted. Holds at most [`PROBE_RESULTS_MAX`].
    pub fn failed_probes(&self) -> mpsc::Sender<FailedProbe> {
        self.probes.clone()
    }
}

impl AgentView for AgentHandle {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.board.pods()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.board.events()
    }

    fn node(&self) -> Arc<Node> {
        self.board.node()
    }

    fn unhealthy(&self) -> Vec<String> {
        self.board.unhealthy()
    }

    fn stats(&self) -> AgentStats {
        self.board.stats()
    }
}

impl Agent {
    /// An agent, and the handle that shows it.
    pub fn new(ports: Ports, config: AgentConfig) -> (Self, AgentHandle) {
        let board = Arc::new(Board::new(ports.events.clone()));
        let (sender, probes) = mpsc::channel(PROBE_RESULTS_MAX);
        let handle = AgentHandle { board: board.clone(), probes: sender };
        (Self { ports, config, board, probes }, handle)
    }

    /// Runs until `stop` is cancelled. Pods survive it, unless the configuration has them end with it. Nothing that
    /// it started runs when it returns.
    pub async fn run(self, stop: CancellationToken) {
        let Self { ports, config, board, probes } = self;
        let memory = load_memory(&*ports.state, &*ports.events, config.readmit_on_restart).await;
        // The tasks that serve the loop end after it, for pods that end need them.
        let serving = CancellationToken::new();
        let mut tasks = JoinSet::new();

        let cache = Arc::new(PodCache::new());
        let (relisted, relisted_seen) = watch::channel(Relisted::default());
        let (pleg_events, pleg) = mpsc::channel(PLEG_EVENTS_MAX);
        let (relists, requests) = RelistRequests::channel();
        let generator =
            Pleg::new(ports.runtime.view.clone(), cache.clone(), ports.clock.clone(), pleg_events, relisted);
        let pleg_dropped = generator.dropped.clone();
        tasks.spawn(generator.run(config.relist, requests, serving.clone()));

        let (health_sender, health) = watch::channel(Health::unknown());
        let check = HealthCheck {
            runtime: ports.runtime.info.clone(),
            relisted: relisted_seen.clone(),
            health: health_sender,
            period: config.runtime_check,
            relist_age_max: config.relist_age_max,
        };
        tasks.spawn(check.run(serving.clone()));

        let source_names: BTreeSet<_> = ports.sources.iter().map(|source| source.name()).collect();
        let snapshots = run_sources(ports.sources, &mut tasks, &stop);

        let node = ports.node.watch();
        let executor = Executor {
            images: Images::new(ports.runtime.images.clone(), ports.clock.clone(), config.image_pulls_max),
            runtime: ports.runtime,
            files: ports.files,
            events: ports.events.clone(),
            clock: ports.clock.clone(),
            cache: cache.clone(),
            board: board.clone(),
            relists,
            node: node.clone(),
            health: health.clone(),
            seccomp_root: ports.seccomp_root,
            start_retry: SignedDuration::try_from(config.requeue.error).unwrap_or(SignedDuration::MAX),
        };
        let handlers = ports.admission.generation();
        let outside = Outside {
            clock: ports.clock,
            jitter: ports.jitter,
            state: ports.state,
            events: ports.events,
            admission: ports.admission,
            executor: Arc::new(executor),
            board,
            cache,
            node: node.clone(),
            relisted: relisted_seen,
            pleg_dropped,
        };
        let inputs = Inputs {
            snapshots,
            pleg,
            probes,
            health,
            node,
            handlers,
            sync_ticks: ticker(config.sync_tick),
            housekeeping: ticker(config.housekeeping),
            stop,
        };
        let stop_wait_max = config.stop_wait_max;
        EventLoop::new(config, outside, source_names, memory).run(inputs).await;

        serving.cancel();
        end_within(tasks, stop_wait_max).await;
    }
}

/// Starts the sources. They stop with the agent.
fn run_sources(
    sources: Vec<Box<dyn PodSource>>,
    tasks: &mut JoinSet<()>,
    stop: &CancellationToken,
) -> mpsc::Receiver<SourceSnapshot> {
    let (sender, snapshots) = mpsc::channel(SOURCE_SNAPSHOTS_MAX);
    for source in sources {
        tasks.spawn(source.run(sender.clone(), stop.child_token()));
    }
    snapshots
}

/// Waits for tasks to end by themselves, then drops those that don't.
pub(crate) async fn end_within<T: 'static>(mut tasks: JoinSet<T>, limit: Duration) {
    let all_ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, all_ended).await.is_err() {
        tracing::warn!(tasks = tasks.len(), "dropping tasks that did not end in time");
    }
    tasks.shutdown().await;
}

/// The pods that were admitted before the restart. What can't be read is as if nothing had been saved: every pod is
/// judged again.
async fn load_memory(state: &dyn StateStore, events: &dyn EventSink, forget: bool) -> AdmissionMemory {
    if forget {
        return AdmissionMemory::default();
    }
    let loaded = match state.load(ADMITTED_PODS).await {
        Ok(None) => return AdmissionMemory::default(),
        Ok(Some(bytes)) => AdmissionMemory::decode(&bytes).map_err(|error| one_line(&error)),
        Err(error) => Err(one_line(&error)),
    };
    loaded.unwrap_or_else(|error| {
        let message = format!("All pods are judged again, for the admitted ones can't be read: {error}");
        let (object, kind) = (EventObject::Node, EventType::Warning);
        events.record(Event { object, kind, reason: "AdmittedPodsLost".to_owned(), message });
        AdmissionMemory::default()
    })
}

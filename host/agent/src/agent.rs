//! The agent put together: its ports, its tasks, and the handle that shows it.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures::FutureExt;
use jiff::SignedDuration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::network::dns;
use witlet_core::pleg::PlegEvent;
use witlet_ports::{
    Admission, CgroupDrivers, Clock, ClusterObjects, ContainerFiles, ContainerLogs, EventSink, FileSystems,
    HookRequests, HostFiles, ImageCredentials, Jitter, NodeWatch, PodFiles, PodSource, PodSourceSet,
    ProbeTypes, PullRecords, Runtime, SOURCE_EVENTS_MAX, SourceEvent, StateStore, StatusSink, Tracer,
    Volumes,
};

use crate::cache::PodCache;
use crate::cgroups::CgroupManager;
use crate::checkpoints;
use crate::container_logs::LogKeeper;
use crate::event_log::EventLog;
use crate::event_loop::{EventLoop, Outside};
use crate::eviction::{EvictionPorts, Evictor};
use crate::executor::Executor;
use crate::executor::hooks::Hooks;
use crate::executor::image_handlers::ImageHandlers;
use crate::executor::images::Images;
use crate::executor::images::access::PullAccess;
use crate::executor::kill::Killer;
use crate::feedback;
use crate::health::{Health, HealthCheck};
use crate::housekeeping::{Housekeeper, PodFolders};
use crate::image_gc::{ImageGc, ImageGcManager, ImageGcPorts, ImageGcRequests};
use crate::inputs::{Inputs, PluginSources};
use crate::metrics::AgentMetrics;
use crate::pleg::{Inspector, Pleg, RelistRequests, Relisted, RuntimeEvents};
use crate::pod_status_store::PodStatusStore;
use crate::prober::{ProbeUpdate, ProberHandle, ProberPorts};
use crate::removals::Removals;
use crate::resource_table::ResourceTable;
use crate::settings::{AgentSettings, HostSettings, PLEG_EVENTS_MAX, PROBE_RESULTS_MAX};
use crate::tasks::{end_within, ticker};

mod handle;
mod lifeline;

pub use handle::AgentHandle;
pub use lifeline::AgentError;
use lifeline::Lifeline;

/// What the agent reaches the world through.
pub struct Ports {
    /// The container runtime.
    pub runtime: Runtime,
    /// The machine's file systems.
    pub file_systems: Arc<dyn FileSystems>,
    /// The admission handlers.
    pub admission: Arc<dyn Admission>,
    /// The folders of pods.
    pub files: Arc<dyn PodFiles>,
    /// Small files that survive a restart.
    pub state: Arc<dyn StateStore>,
    /// The kernel's cgroups.
    pub cgroups: CgroupDrivers,
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
    /// Those of plugins, which come and go.
    pub plugin_sources: Option<Arc<dyn PodSourceSet>>,
    /// What configurations of pods draw from in addition to the pod and the node.
    pub host: HostSettings,
    /// Files of the machine that pods' own are made from.
    pub host_files: Arc<dyn HostFiles>,
    /// Volumes of pods.
    pub volumes: Arc<dyn Volumes>,
    /// What is written for containers and read of them.
    pub container_files: Arc<dyn ContainerFiles>,
    /// Logs of containers, to be kept small.
    pub container_logs: Arc<dyn ContainerLogs>,
    /// Credentials for registries.
    pub credentials: Arc<dyn ImageCredentials>,
    /// What is kept of pulls.
    pub pull_records: Arc<dyn PullRecords>,
    /// The types of probes.
    pub probe_types: Arc<dyn ProbeTypes>,
    /// Requests of lifecycle hooks.
    pub hooks: Arc<dyn HookRequests>,
    /// Receives the status of each pod.
    pub statuses: Arc<dyn StatusSink>,
    /// What pods draw from the cluster.
    pub objects: Arc<dyn ClusterObjects>,
    /// What evictions are decided on.
    pub eviction: EvictionPorts,
    /// Whose spans the work on pods is.
    pub tracer: Tracer,
}

/// A node agent that is ready to run.
pub struct Agent {
    ports: Ports,
    settings: AgentSettings,
    statuses: Arc<PodStatusStore>,
    image_gc: ImageGc,
    image_requests: ImageGcRequests,
    metrics: Arc<AgentMetrics>,
}

impl Agent {
    /// An agent, and the handle that shows it.
    pub fn new(ports: Ports, settings: AgentSettings) -> (Self, AgentHandle) {
        let metrics = Arc::<AgentMetrics>::default();
        let (events, sink) = (ports.events.clone(), ports.statuses.clone());
        let statuses = Arc::new(PodStatusStore::new(events, sink, metrics.pods.clone()));
        let (image_gc, requests) = ImageGc::channel();
        let handle =
            AgentHandle { statuses: statuses.clone(), image_gc: image_gc.clone(), metrics: metrics.clone() };
        (Self { ports, settings, statuses, image_gc, image_requests: requests, metrics }, handle)
    }

    /// Runs until `stop` is cancelled. Pods survive it, unless the configuration has them end with it. Nothing that
    /// it started runs when it returns.
    ///
    /// # Errors
    /// When it can't start with what is on disk, and when a part of it that should run on has ended.
    #[allow(
        clippy::too_many_lines,
        reason = "puts the agent together: a line for each part, and no decision"
    )]
    pub async fn run(self, stop: CancellationToken) -> Result<(), AgentError> {
        let Self { ports, settings, statuses, image_gc: images, image_requests, metrics } = self;
        let loaded = checkpoints::load(&*ports.state, &*ports.files, &*ports.events, &settings).await?;
        // Also cancelled when a part ends that shouldn't.
        let stop = stop.child_token();
        let (ended, mut unexpected) = mpsc::channel(1);
        // The tasks that serve the loop end after it, for pods that end need them.
        let serving = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let serves = Lifeline { stop: serving.clone(), ended: ended.clone() };

        let Watched { inspector, relists, relisted, pleg, pleg_dropped, health } =
            watch_runtime(&ports, &settings, &metrics, &mut tasks, &serves);
        let cache = inspector.cache.clone();
        let prober = metrics.prober.clone();
        let probes = probe(&ports, &statuses, &prober, &mut tasks, &serves);
        tend_files(&ports, &settings, &cache, &mut tasks, &serves);

        let source_names: BTreeSet<_> = ports.sources.iter().map(|source| source.name()).collect();
        let (source_events, plugin_sources) = run_sources(
            ports.sources,
            ports.plugin_sources,
            &statuses,
            &mut tasks,
            &Lifeline { stop: stop.clone(), ended },
        );

        let allocated = Arc::new(ResourceTable::allocated(ports.state.clone(), &*ports.events).await);
        let actuated = Arc::new(ResourceTable::actuated(ports.state.clone(), &*ports.events).await);
        for table in [&allocated, &actuated] {
            serves.spawn(&mut tasks, "a checkpoint of resources", table.clone().run(serving.clone()));
        }

        let (node, at_runtime) = (ports.node.watch(), ports.runtime.images.clone());
        let cgroups = Arc::new(CgroupManager::new(
            settings.cgroups.clone(),
            ports.cgroups,
            ports.runtime.info.clone(),
            node.clone(),
            ports.events.clone(),
            metrics.cgroups.clone(),
        ));
        keep_cgroups(cgroups.clone(), &mut tasks, &serves);
        let verification = settings.image_verification.clone();
        let access = Arc::new(PullAccess::new(ports.pull_records, verification, ports.clock.clone()));
        let gc_ports = ImageGcPorts {
            store: ports.runtime.image_store.clone(),
            file_systems: ports.file_systems,
            state: ports.state.clone(),
            events: ports.events.clone(),
            clock: ports.clock.clone(),
            access: access.clone(),
            tracer: ports.tracer.clone(),
        };
        let collecting = ImageGcManager::run(gc_ports, settings.image_gc, image_requests, serving.clone());
        serves.spawn(&mut tasks, "the image garbage collection", collecting);
        let (runtime, removals) = (ports.runtime, Arc::<Removals>::default());
        let killer = Killer {
            containers: runtime.containers.clone(),
            sandboxes: runtime.sandboxes.clone(),
            hooks: Hooks {
                commands: runtime.containers.clone(),
                requests: ports.hooks,
                events: ports.events.clone(),
                cache: cache.clone(),
                statuses: statuses.clone(),
                metrics: metrics.pods.clone(),
            },
            events: ports.events.clone(),
        };
        let executor = Executor {
            images: Images::new(
                at_runtime,
                ports.credentials,
                access,
                ports.clock.clone(),
                settings.image_pulls,
                metrics.images.clone(),
            ),
            image_handlers: ImageHandlers::new(ports.admission.clone()),
            runtime,
            killer,
            files: ports.files.clone(),
            events: ports.events.clone(),
            clock: ports.clock.clone(),
            cache: cache.clone(),
            inspector,
            statuses: statuses.clone(),
            relists,
            node: node.clone(),
            health: health.clone(),
            host: ports.host,
            host_files: ports.host_files,
            cgroups,
            volumes: ports.volumes,
            removals: removals.clone(),
            container_files: ports.container_files,
            objects: ports.objects.clone(),
            prober: prober.clone(),
            metrics: metrics.pods.clone(),
            tracer: ports.tracer.clone(),
            resizes: metrics.resizes.clone(),
            actuated: actuated.clone(),
            allocated: allocated.clone(),
            start_retry: SignedDuration::try_from(settings.requeue.error).unwrap_or(SignedDuration::MAX),
        };
        let housekeeper = Housekeeper {
            containers: executor.runtime.containers.clone(),
            sandboxes: executor.runtime.sandboxes.clone(),
            container_files: executor.container_files.clone(),
            tracer: ports.tracer.clone(),
            folders: PodFolders {
                files: executor.files.clone(),
                volumes: executor.volumes.clone(),
                removals: executor.removals.clone(),
                cgroups: executor.cgroups.clone(),
                metrics: executor.metrics.clone(),
            },
        };
        let (evictor, evictions) = Evictor::new(
            ports.eviction,
            images,
            settings.eviction.clone(),
            executor.runtime.view.clone(),
            ports.events.clone(),
            ports.clock.clone(),
            statuses.clone(),
        );
        serves.spawn(&mut tasks, "the eviction manager", evictor.run(serving.clone()));
        let handlers = ports.admission.generation();
        let outside = Outside {
            clock: ports.clock,
            jitter: ports.jitter,
            is_in_cluster: ports.events.is_forwarding(),
            events: ports.events,
            admission: ports.admission,
            executor: Arc::new(executor),
            files: ports.files,
            removals,
            allocated,
            actuated,
            metrics: metrics.pods.clone(),
            resizes: metrics.resizes.clone(),
            tracer: ports.tracer,
            housekeeper: Arc::new(housekeeper),
            prober,
            statuses,
            cache,
            node: node.clone(),
            relisted,
            pleg_dropped,
        };
        let inputs = Inputs {
            sources: source_events,
            plugin_sources,
            pleg,
            probes,
            health,
            node,
            handlers,
            objects: ports.objects,
            evictions,
            sync_ticks: ticker(settings.sync_tick),
            housekeeping: ticker(settings.housekeeping),
            stop: stop.clone(),
        };
        let stop_wait_max = settings.stop_wait_max;
        let running = EventLoop::new(settings, outside, source_names, loaded).run(inputs);
        let mut running = pin!(running);
        let outcome = tokio::select! {
            () = &mut running => Ok(()),
            Some(error) = unexpected.recv() => {
                stop.cancel();
                running.await;
                Err(error)
            }
        };
        serving.cancel();
        end_within(tasks, stop_wait_max).await;
        outcome
    }
}

/// What is known of the runtime, and kept fresh.
struct Watched {
    inspector: Inspector,
    relists: RelistRequests,
    relisted: watch::Receiver<Relisted>,
    pleg: mpsc::Receiver<PlegEvent>,
    pleg_dropped: Arc<AtomicU64>,
    health: watch::Receiver<Health>,
}

/// Starts what looks at the runtime: the lists, its own events, and how it is.
fn watch_runtime(
    ports: &Ports,
    settings: &AgentSettings,
    metrics: &AgentMetrics,
    tasks: &mut JoinSet<()>,
    serves: &Lifeline,
) -> Watched {
    let (relisted_sender, relisted) = watch::channel(Relisted::default());
    let (pleg_events, pleg) = mpsc::channel(PLEG_EVENTS_MAX);
    let (relists, requests) = RelistRequests::channel();
    let inspector = Inspector {
        view: ports.runtime.view.clone(),
        files: ports.container_files.clone(),
        cache: Arc::new(PodCache::new()),
    };
    let mut generator = Pleg::new(inspector.clone(), ports.clock.clone(), pleg_events, relisted_sender);
    generator.metrics = metrics.relists.clone();
    let pleg_dropped = generator.dropped.clone();
    serves.spawn(tasks, "PLEG", generator.run(settings.relist, requests, serves.stop.clone()));

    let (health_sender, health) = watch::channel(Health::unknown());
    let check = HealthCheck {
        runtime: ports.runtime.info.clone(),
        relisted: relisted.clone(),
        health: health_sender,
        period: settings.runtime_check,
        relist_age_max: settings.relist_age_max,
    };
    serves.spawn(tasks, "the check of the runtime", check.run(serves.stop.clone()));
    let (view, health_seen) = (ports.runtime.view.clone(), health.clone());
    let runtime_events = RuntimeEvents { view, relists: relists.clone(), health: health_seen };
    serves.spawn(tasks, "the watch of the runtime's events", runtime_events.run(serves.stop.clone()));
    Watched { inspector, relists, relisted, pleg, pleg_dropped, health }
}

/// Starts what keeps the cgroups above those of pods. The agent ends if it can't start.
fn keep_cgroups(cgroups: Arc<CgroupManager>, tasks: &mut JoinSet<()>, serves: &Lifeline) {
    let (stop, ended) = (serves.stop.clone(), serves.ended.clone());
    let keeping = async move {
        if let Err(error) = cgroups.run(stop).await {
            // The first report ends the agent; there is room for one.
            let _reported = ended.try_send(AgentError::Cgroups(error));
        }
    };
    serves.spawn(tasks, "the container manager", keeping);
}

/// Starts the probe manager.
fn probe(
    ports: &Ports,
    statuses: &Arc<PodStatusStore>,
    prober: &ProberHandle,
    tasks: &mut JoinSet<()>,
    serves: &Lifeline,
) -> mpsc::Receiver<ProbeUpdate> {
    let prober_ports = ProberPorts {
        types: ports.probe_types.clone(),
        statuses: statuses.clone(),
        events: ports.events.clone(),
        clock: ports.clock.clone(),
        jitter: ports.jitter.clone(),
    };
    let (manager, updates) = prober.manager(prober_ports, PROBE_RESULTS_MAX);
    serves.spawn(tasks, "the probe manager", manager.run(serves.stop.clone()));
    updates
}

/// Starts what keeps the logs of containers small, and looks once at the node's resolv.conf.
fn tend_files(
    ports: &Ports,
    settings: &AgentSettings,
    cache: &Arc<PodCache>,
    tasks: &mut JoinSet<()>,
    serves: &Lifeline,
) {
    let keeper = LogKeeper {
        logs: ports.container_logs.clone(),
        containers: ports.runtime.containers.clone(),
        clock: ports.clock.clone(),
        cache: cache.clone(),
        limits: settings.logs,
    };
    serves.spawn(tasks, "the rotation of logs", keeper.run(serves.stop.clone()));
    let (files, sink, domain) =
        (ports.host_files.clone(), ports.events.clone(), ports.host.cluster_domain.clone());
    tasks.spawn(async move { check_resolv_conf(&*files, &*sink, &domain).await });
}

/// Starts the sources. They stop with the agent.
fn run_sources(
    sources: Vec<Box<dyn PodSource>>,
    plugin_sources: Option<Arc<dyn PodSourceSet>>,
    statuses: &Arc<PodStatusStore>,
    tasks: &mut JoinSet<()>,
    lifeline: &Lifeline,
) -> (mpsc::Receiver<SourceEvent>, PluginSources) {
    let (sender, events) = mpsc::channel(SOURCE_EVENTS_MAX);
    let Lifeline { stop, ended } = lifeline;
    for source in sources {
        let (stop, ended, source_name) = (stop.clone(), ended.clone(), source.name());
        let running = AssertUnwindSafe(source.run(sender.clone(), stop.child_token())).catch_unwind();
        tasks.spawn(async move {
            let panicked = running.await.is_err();
            if !stop.is_cancelled() {
                // The first report ends the agent; there is room for one.
                let _reported = ended.try_send(AgentError::SourceEnded { source_name, panicked });
            }
        });
    }
    let names = match plugin_sources {
        Some(set) => {
            let names = set.names();
            let feedback = feedback::run(set.clone(), statuses.clone(), stop.child_token());
            lifeline.spawn(tasks, "the feedback to pod sources", feedback);
            lifeline.spawn(tasks, "the pod sources of plugins", set.run(sender, stop.child_token()));
            PluginSources::of(names)
        }
        None => PluginSources::none(),
    };
    (events, names)
}

/// Tells once what is wrong with the resolv.conf that pods get (upstream: `CheckLimitsForResolvConf` at the loop's start).
async fn check_resolv_conf(files: &dyn HostFiles, events: &dyn EventSink, cluster_domain: &str) {
    let message = match files.resolv_conf().await {
        Ok(Some(text)) => dns::check_limits(&text, &files.resolv_conf_place(), cluster_domain),
        Ok(None) => None,
        Err(error) => Some(one_line(&error)),
    };
    if let Some(message) = message {
        events.record(Event::warning(EventObject::Node, "CheckLimitsForResolvConf", message));
    }
}

#[cfg(test)]
mod tests;

//! The parts that serve the event loop, each started with what it needs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures::FutureExt as _;
use jiff::SignedDuration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::network::dns;
use witlet_core::node::NodeFacts;
use witlet_core::pleg::PlegEvent;
use witlet_ports::{EventSink, HostFiles, PodSource, PodView, SOURCE_EVENTS_MAX, SourceEvent};

use super::lifeline::{AgentError, Lifeline};
use super::ports::Ports;
use crate::cache::PodCache;
use crate::cgroups::CgroupManager;
use crate::container_logs::LogKeeper;
use crate::event_loop::Outside;
use crate::eviction::{EvictionRequest, Evictor, KnownPods};
use crate::executor::Executor;
use crate::executor::hooks::Hooks;
use crate::executor::image_handlers::ImageHandlers;
use crate::executor::images::Images;
use crate::executor::images::access::PullAccess;
use crate::executor::kill::Killer;
use crate::feedback;
use crate::handlers_node::{HandlersNode, LastUsage};
use crate::health::{Health, HealthCheck};
use crate::housekeeping::{Housekeeper, PodFolders};
use crate::image_gc::{ImageGc, ImageGcManager, ImageGcPorts, ImageGcRequests};
use crate::inputs::PluginSources;
use crate::metrics::AgentMetrics;
use crate::pleg::{Inspector, Pleg, RelistRequests, Relisted, RuntimeEvents};
use crate::pod_status_store::PodStatusStore;
use crate::prober::{ProbeUpdate, ProberPorts};
use crate::recheck_ends::RecheckEndsFile;
use crate::removals::Removals;
use crate::resource_table::ResourceTable;
use crate::settings::{AgentSettings, PLEG_EVENTS_MAX, PROBE_RESULTS_MAX};

/// What the parts are made of, and where they run.
pub(super) struct Services<'a> {
    pub(super) ports: Ports,
    pub(super) settings: &'a AgentSettings,
    pub(super) metrics: &'a AgentMetrics,
    pub(super) statuses: &'a Arc<PodStatusStore>,
    pub(super) tasks: JoinSet<()>,
    pub(super) serves: Lifeline,
}

/// What is known of the runtime, and kept fresh.
pub(super) struct WatchedRuntime {
    pub(super) inspector: Inspector,
    relists: RelistRequests,
    relisted: watch::Receiver<Relisted>,
    pub(super) pleg: mpsc::Receiver<PlegEvent>,
    pleg_dropped: Arc<AtomicU64>,
    pub(super) health: watch::Receiver<Health>,
}

/// Resources of pods, as files have them.
pub(super) struct ResourceTables {
    allocated: Arc<ResourceTable>,
    actuated: Arc<ResourceTable>,
}

impl Services<'_> {
    /// Starts what checks the runtime: the lists, its own events, and how it is.
    pub(super) fn watch_runtime(&mut self) -> WatchedRuntime {
        let (ports, settings, stop) = (&self.ports, self.settings, self.serves.stop.clone());
        let (relisted_sender, relisted) = watch::channel(Relisted::default());
        let (pleg_events, pleg) = mpsc::channel(PLEG_EVENTS_MAX);
        let (relists, requests) = RelistRequests::channel();
        let inspector = Inspector {
            view: ports.runtime.view.clone(),
            files: ports.container_files.clone(),
            cache: Arc::new(PodCache::new()),
        };
        let mut generator = Pleg::new(inspector.clone(), ports.clock.clone(), pleg_events, relisted_sender);
        generator.metrics = self.metrics.relists.clone();
        let pleg_dropped = generator.dropped.clone();
        self.serves.spawn(&mut self.tasks, "PLEG", generator.run(settings.relist, requests, stop.clone()));

        let (health_sender, health) = watch::channel(Health::unknown());
        let check = HealthCheck {
            runtime: ports.runtime.info.clone(),
            relisted: relisted.clone(),
            health: health_sender,
            period: settings.runtime_check,
            relist_age_max: settings.relist_age_max,
        };
        self.serves.spawn(&mut self.tasks, "the check of the runtime", check.run(stop.clone()));
        let (view, health_seen) = (ports.runtime.view.clone(), health.clone());
        let runtime_events = RuntimeEvents { view, relists: relists.clone(), health: health_seen };
        self.serves.spawn(&mut self.tasks, "the watch of the runtime's events", runtime_events.run(stop));
        WatchedRuntime { inspector, relists, relisted, pleg, pleg_dropped, health }
    }

    /// Starts the probe manager.
    pub(super) fn probe(&mut self) -> mpsc::Receiver<ProbeUpdate> {
        let ports = ProberPorts {
            types: self.ports.probe_types.clone(),
            statuses: self.statuses.clone(),
            events: self.ports.events.clone(),
            clock: self.ports.clock.clone(),
            jitter: self.ports.jitter.clone(),
        };
        let (manager, updates) = self.metrics.prober.manager(ports, PROBE_RESULTS_MAX);
        self.serves.spawn(&mut self.tasks, "the probe manager", manager.run(self.serves.stop.clone()));
        updates
    }

    /// Starts what keeps the logs of containers small, and checks the node's resolv.conf once.
    pub(super) fn tend_files(&mut self, cache: &Arc<PodCache>) {
        let ports = &self.ports;
        let keeper = LogKeeper {
            logs: ports.container_logs.clone(),
            containers: ports.runtime.containers.clone(),
            clock: ports.clock.clone(),
            cache: cache.clone(),
            limits: self.settings.logs,
        };
        self.serves.spawn(&mut self.tasks, "the rotation of logs", keeper.run(self.serves.stop.clone()));
        let (files, sink) = (ports.host_files.clone(), ports.events.clone());
        let domain = ports.host.cluster_domain.clone();
        self.tasks.spawn(async move { check_resolv_conf(&*files, &*sink, &domain).await });
    }

    /// Starts the sources, which stop with the agent, by a lifeline of their own.
    pub(super) fn run_sources(
        &mut self,
        sources: Vec<Box<dyn PodSource>>,
        lifeline: &Lifeline,
    ) -> (mpsc::Receiver<SourceEvent>, PluginSources) {
        let (sender, events) = mpsc::channel(SOURCE_EVENTS_MAX);
        let Lifeline { stop, ended } = lifeline;
        let tasks = &mut self.tasks;
        for source in sources {
            let (stop, ended, source_name) = (stop.clone(), ended.clone(), source.name());
            let running = AssertUnwindSafe(source.run(sender.clone(), stop.child_token())).catch_unwind();
            tasks.spawn(async move {
                let panicked = running.await.is_err();
                if !stop.is_cancelled() {
                    // The first report ends the agent; the channel holds one.
                    let _reported = ended.try_send(AgentError::SourceEnded { source_name, panicked });
                }
            });
        }
        let names = match self.ports.plugin_sources.clone() {
            Some(set) => {
                let names = set.names();
                let feedback = feedback::run(set.clone(), self.statuses.clone(), stop.child_token());
                lifeline.spawn(tasks, "the feedback to pod sources", feedback);
                lifeline.spawn(tasks, "the pod sources of plugins", set.run(sender, stop.child_token()));
                PluginSources::of(names)
            }
            None => PluginSources::none(),
        };
        (events, names)
    }

    /// Reads what pods were allocated and what containers were given, and starts what writes it.
    pub(super) async fn keep_resource_tables(&mut self) -> ResourceTables {
        let Ports { state, events, .. } = &self.ports;
        let allocated = Arc::new(ResourceTable::allocated(state.clone(), &**events).await);
        let actuated = Arc::new(ResourceTable::actuated(state.clone(), &**events).await);
        for table in [&allocated, &actuated] {
            self.serves.spawn(
                &mut self.tasks,
                "a checkpoint of resources",
                table.clone().run(self.serves.stop.clone()),
            );
        }
        ResourceTables { allocated, actuated }
    }

    /// Reads when running pods were ended by handlers, and starts what writes it.
    pub(super) async fn keep_recheck_ends(&mut self) -> Arc<RecheckEndsFile> {
        let Ports { state, events, .. } = &self.ports;
        let ends = Arc::new(RecheckEndsFile::load(state.clone(), &**events).await);
        let keeping = ends.clone().run(self.serves.stop.clone());
        self.serves.spawn(&mut self.tasks, "the checkpoint of rechecks", keeping);
        ends
    }

    /// Starts what keeps the cgroups above those of pods. The agent ends if it can't start.
    pub(super) fn keep_cgroups(&mut self, node: watch::Receiver<Arc<NodeFacts>>) -> Arc<CgroupManager> {
        let manager = Arc::new(CgroupManager::new(
            self.settings.cgroups.clone(),
            self.ports.cgroups.clone(),
            self.ports.runtime.info.clone(),
            node,
            self.ports.events.clone(),
            self.metrics.cgroups.clone(),
        ));
        let (cgroups, Lifeline { stop, ended }) = (manager.clone(), self.serves.clone());
        let keeping = async move {
            if let Err(error) = cgroups.run(stop).await {
                // The first report ends the agent; the channel holds one.
                let _reported = ended.try_send(AgentError::Cgroups(error));
            }
        };
        self.serves.spawn(&mut self.tasks, "the container manager", keeping);
        manager
    }

    /// Starts the image garbage collection, and returns what knows who may use an image.
    pub(super) fn collect_images(&mut self, requests: ImageGcRequests) -> Arc<PullAccess> {
        let ports = &self.ports;
        let verification = self.settings.image_verification.clone();
        let access = Arc::new(PullAccess::new(ports.pull_records.clone(), verification, ports.clock.clone()));
        let gc_ports = ImageGcPorts {
            store: ports.runtime.image_store.clone(),
            file_systems: ports.file_systems.clone(),
            state: ports.state.clone(),
            events: ports.events.clone(),
            clock: ports.clock.clone(),
            access: access.clone(),
            tracer: ports.tracer.clone(),
        };
        let stop = self.serves.stop.clone();
        let collecting = ImageGcManager::run(gc_ports, self.settings.image_gc, requests, stop);
        self.serves.spawn(&mut self.tasks, "the image garbage collection", collecting);
        access
    }

    /// Starts the eviction manager.
    pub(super) fn evict(
        &mut self,
        images: ImageGc,
        view: Arc<dyn PodView>,
        usage: watch::Sender<LastUsage>,
    ) -> mpsc::Receiver<EvictionRequest> {
        let (evictor, evictions) = Evictor::new(
            self.ports.eviction.clone(),
            images,
            self.settings.eviction.clone(),
            KnownPods { view, statuses: self.statuses.clone() },
            self.ports.events.clone(),
            self.ports.clock.clone(),
            usage,
        );
        self.serves.spawn(&mut self.tasks, "the eviction manager", evictor.run(self.serves.stop.clone()));
        evictions
    }

    /// Returns what carries the work on pods out.
    pub(super) fn executor(
        &self,
        watched: &WatchedRuntime,
        tables: ResourceTables,
        (node, usage): (watch::Receiver<Arc<NodeFacts>>, watch::Receiver<LastUsage>),
        cgroups: Arc<CgroupManager>,
        access: Arc<PullAccess>,
    ) -> Executor {
        let (ports, metrics, cache) = (&self.ports, self.metrics, &watched.inspector.cache);
        let handlers_node = HandlersNode {
            machine: node.clone(),
            usage,
            objects: ports.objects.clone(),
            runtime_classes: ports.host.runtime_classes.clone(),
        };
        let killer = Killer {
            containers: ports.runtime.containers.clone(),
            sandboxes: ports.runtime.sandboxes.clone(),
            hooks: Hooks {
                commands: ports.runtime.containers.clone(),
                requests: ports.hooks.clone(),
                events: ports.events.clone(),
                cache: cache.clone(),
                statuses: self.statuses.clone(),
                metrics: metrics.pods.clone(),
            },
            events: ports.events.clone(),
        };
        let images = Images::new(
            ports.runtime.images.clone(),
            ports.credentials.clone(),
            access,
            ports.clock.clone(),
            self.settings.image_pulls,
            metrics.images.clone(),
        );
        Executor {
            images,
            image_handlers: ImageHandlers::new(ports.admission.clone()),
            runtime: ports.runtime.clone(),
            killer,
            files: ports.files.clone(),
            events: ports.events.clone(),
            clock: ports.clock.clone(),
            cache: cache.clone(),
            inspector: watched.inspector.clone(),
            statuses: self.statuses.clone(),
            relists: watched.relists.clone(),
            node,
            handlers_node,
            health: watched.health.clone(),
            host: ports.host.clone(),
            host_files: ports.host_files.clone(),
            cgroups,
            volumes: ports.volumes.clone(),
            removals: Arc::<Removals>::default(),
            container_files: ports.container_files.clone(),
            objects: ports.objects.clone(),
            prober: metrics.prober.clone(),
            metrics: metrics.pods.clone(),
            tracer: ports.tracer.clone(),
            resizes: metrics.resizes.clone(),
            actuated: tables.actuated,
            allocated: tables.allocated,
            start_retry: SignedDuration::try_from(self.settings.requeue.error).unwrap_or(SignedDuration::MAX),
        }
    }

    /// Returns what the loop reaches from inside.
    pub(super) fn outside(
        &self,
        executor: Executor,
        watched: &WatchedRuntime,
        recheck_ends: Arc<RecheckEndsFile>,
    ) -> Outside {
        let ports = &self.ports;
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
        Outside {
            clock: ports.clock.clone(),
            jitter: ports.jitter.clone(),
            is_in_cluster: ports.events.is_forwarding(),
            events: ports.events.clone(),
            admission: ports.admission.clone(),
            recheck_ends,
            files: ports.files.clone(),
            removals: executor.removals.clone(),
            allocated: executor.allocated.clone(),
            actuated: executor.actuated.clone(),
            metrics: executor.metrics.clone(),
            resizes: executor.resizes.clone(),
            tracer: ports.tracer.clone(),
            housekeeper: Arc::new(housekeeper),
            prober: executor.prober.clone(),
            statuses: self.statuses.clone(),
            cache: executor.cache.clone(),
            node: executor.node.clone(),
            handlers_node: executor.handlers_node.clone(),
            relisted: watched.relisted.clone(),
            pleg_dropped: watched.pleg_dropped.clone(),
            executor: Arc::new(executor),
        }
    }
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

//! `witlet run`: puts the parts together, and takes them apart again. No other file knows all of them.

mod base;
mod cluster;
mod embedded;
mod endpoints;
mod lock;
mod own_files;
mod parts;
mod plugin_host;
mod plugin_sets;
pub(crate) mod plugins;
mod process;
mod reported_state;
mod reporting;
mod runtime_facts;
pub(crate) mod signals;
mod spans;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_agent::{
    Agent, AgentError, AgentSettings, CgroupMode, CgroupSettings, EventLog, EvictionPorts, HostSettings,
    Ports,
};
use witlet_core::cgroup::MemoryQos;
use witlet_core::container::spec::SwapBehavior;
use witlet_core::node::allocatable::cpu_set;
use witlet_core::pod::worker::RequeueIntervals;
use witlet_egress::HttpHooks;
use witlet_node::{
    CgroupFs, CgroupResources, ClusterSecrets, DiskUsage, FileSource, HttpSource, KernelMemoryNotifier,
    MachineSystem, NodeContainerFiles, NodeContainerLogs, NodeCredentials, NodeFileSystems, NodeHostFiles,
    NodeInfo, NodePodFiles, NodeVolumes, PodsCgroup, ProcessMetrics, PullSecrets, SubordinateIdsError,
    SystemdCgroups, process_started_at, subordinate_ids,
};
use witlet_otlp::Exporter;
use witlet_ports::{
    AgentView, CgroupDrivers, Cgroups, ClusterObjects, MetricsSource, NoObjects, NoStatuses, NodeAccess,
    NodeSystem, NodeWatch, PodSource, StatusSink,
};
use witlet_server::{
    BindError, CgroupContainerStats, Diagnostics, KubeletServer, LocalApi, Metrics, RootOnlySocket,
    StatsPorts, UsagePorts,
};
use witlet_wasm::host::{PluginHost, SourcesConfig};

use crate::kubelet::GateMetrics;
use crate::logging::RunningFilter;
use crate::run::base::{Base, BaseError};
use crate::run::cluster::{Cluster, ClusterError};
use crate::run::embedded::{Embedded, EmbeddedError};
use crate::run::endpoints::{Answers, Endpoints, EndpointsError, diagnostics};
use crate::run::lock::{LockError, RootLock};
use crate::run::own_files::{OwnFiles, OwnFilesError};
use crate::run::parts::{PartError, Parts};
use crate::run::plugin_host::{NodePlugins, PluginsError};
use crate::run::plugin_sets::SetManager;
use crate::run::reported_state::ReportedState;
use crate::run::reporting::{PluginProblems, Reporting, ShownPlugins};
use crate::settings::{Folders, Manifests, Settings};

/// Why the agent doesn't start.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    /// A folder of the agent's can't be made.
    #[error(
        "failed to create {}; run witlet as root, or set --root-dir, --pod-logs-dir and --api-socket to folders that it may write",
        path.display()
    )]
    Folder {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The agent's folder isn't this process's.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The agent's own files can't be kept.
    #[error(transparent)]
    OwnFiles(#[from] OwnFilesError),
    /// CPUs that aren't online are reserved.
    #[error("reserved-cpus: {reserved} is not a subset of online-cpus: {online}")]
    ReservedCpus { reserved: String, online: String },
    /// Which ids pods with user namespaces may have isn't known.
    #[error(transparent)]
    SubordinateIds(#[from] SubordinateIdsError),
    /// What all parts are made from can't be had.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The node can't be part of its cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The endpoints of the node can't be had.
    #[error(transparent)]
    Endpoints(#[from] EndpointsError),
    /// The embedded runtime doesn't start.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// There are no plugins.
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    /// The local API has no socket.
    #[error("failed to serve the local API at the socket that --api-socket names")]
    Socket(#[from] BindError),
    /// A part of the agent ended that shouldn't have.
    #[error("a task of the agent ended")]
    Part(#[from] PartError),
    /// The agent can't start with what is on disk, or a part of it ended.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The local API failed.
    #[error("failed to serve the local API")]
    Api(#[source] std::io::Error),
}

impl PluginProblems for PluginHost {
    fn problems(&self) -> Option<Vec<String>> {
        self.is_configured().then(|| [PluginHost::problems(self), self.reverted_rollouts()].concat())
    }
}

/// Runs the agent until the process is asked to stop.
pub(crate) async fn run(settings: Settings, filter: RunningFilter) -> Result<(), RunError> {
    process::raise_file_limit();
    if let Some(score) = settings.oom_score {
        process::set_oom_score(score);
    }
    create_folder(&settings.folders.root)?;
    if settings.runtime.endpoint != embedded::ENDPOINT {
        process::share_folder(&settings.folders.root);
    }
    let _lock = RootLock::take(&settings.folders.root).await?;
    OwnFiles::below(&settings.folders.root).prepare()?;
    let mut base = Base::new(&settings)?;
    let user_namespace_ids = subordinate_ids(settings.node.max_pods).await?;
    let reached = cluster::reach(&settings, &base)?;
    let socket = RootOnlySocket::bind(&settings.api_socket).await?;
    let endpoints = Endpoints::bind(&settings, base.names(), base.clock.clone()).await?;
    let events = EventLog::new(base.clock.clone());
    let events = Arc::new(match &reached {
        Some(reached) => events.forwarding(reached.event_sink()),
        None => events,
    });
    let mut cluster = match reached {
        Some(reached) => Some(reached.join(&base, events.clone())?),
        None => None,
    };
    let node =
        cluster.as_ref().map_or_else(|| base.machine.clone() as Arc<dyn NodeWatch>, |c| c.node.clone());
    let object = cluster.as_ref().map(|cluster| cluster.object.clone());
    let NodePlugins { host: plugins, sets } =
        plugin_host::start(&settings, &base, object, (&node, &events)).await?;
    let cgroups = cgroup_settings(&settings)?;
    // Last of what can fail: an embedded runtime that was started goes on without the agent.
    let embedded = embedded(&settings).await?;
    let ports = ports(&settings, &base, cluster.as_mut(), &plugins, node, events.clone());
    let agent_settings = AgentSettings { user_namespace_ids, cgroups, ..agent_settings(&settings) };
    let (agent, handle) = Agent::new(ports, agent_settings);
    let (probes, agent_metrics) = (handle.probe_metrics(), handle.metrics());
    let shown_set = sets.as_ref().map(SetManager::shown);
    let reporting = Reporting::new(
        Arc::new(handle),
        base.health.clone(),
        base.state.clone(),
        plugins.clone(),
        base.clock.clone(),
    );
    let view: Arc<dyn AgentView> = Arc::new(reporting.with_set(shown_set.clone()));
    let gates = Arc::new(GateMetrics(settings.feature_gates.clone()));
    let metrics: [Arc<dyn MetricsSource>; 5] =
        [Arc::new(plugins.metrics()), Arc::new(ProcessMetrics), base.cri.metrics(), agent_metrics, gates];
    let sets = sets.map(|sets| (sets, plugins.clone()));
    let of_set = shown_set.clone().map(|set| set as Arc<dyn MetricsSource>);
    let api = LocalApi::new(view.clone(), Arc::new(ShownPlugins::new(plugins, shown_set)));
    let of_cluster = cluster.iter().flat_map(|cluster| cluster.metrics.clone());
    let records: Arc<dyn MetricsSource> = base.pull_records.clone();
    let more = of_cluster.chain(base.spans.metrics()).chain(of_set).chain([records]);
    let api = metrics.into_iter().chain(more).fold(api, LocalApi::with_metrics);
    let api = api.with_usage(usage_ports(&settings, &base));
    let shown = (api.metrics(), probes, diagnostics(&settings, &base, filter));
    let server = endpoints.server(answers(&settings, &base, cluster.as_ref(), view.clone(), shown));
    tracing::info!(node = %base.name, "Started witlet");
    let (state, exporter) = (base.state.clone(), base.spans.exporter.take());
    let sides = Sides { view, api, socket, endpoints, server, cluster, sets, state, events, exporter };
    work(agent, sides, &base.machine).await?;
    if let Some(embedded) = embedded.filter(|_| settings.stop_pods_on_exit) {
        embedded.stop().await?;
    }
    tracing::info!("Stopped witlet");
    Ok(())
}

/// Returns what the local API measures usage with.
fn usage_ports(settings: &Settings, base: &Base) -> UsagePorts {
    let stats = CgroupContainerStats {
        pods: base.runtime.view.clone(),
        kernel: base.kernel.clone(),
        runtime: Arc::new(base.cri.clone()),
    };
    UsagePorts {
        stats: Arc::new(stats),
        node_reader: base.node_reader.clone(),
        reservations: settings.node.reserved.clone(),
        clock: base.clock.clone(),
    }
}

/// Returns what the node's endpoints answer from.
fn answers(
    settings: &Settings,
    base: &Base,
    cluster: Option<&Cluster>,
    view: Arc<dyn AgentView>,
    (metrics, probes, diagnostics): (Metrics, Arc<dyn MetricsSource>, Diagnostics),
) -> Answers {
    let Folders { root, pod_logs, .. } = &settings.folders;
    Answers {
        stats: StatsPorts {
            view: view.clone(),
            pods: base.runtime.view.clone(),
            runtime: Arc::new(base.cri.clone()),
            images: Arc::new(base.cri.clone()),
            kernel: base.kernel.clone(),
            storage: Arc::new(DiskUsage::new(root, pod_logs)),
            clock: base.clock.clone(),
            node_name: base.name.clone(),
            root: root.clone(),
        },
        view,
        mirrors: cluster.map(|cluster| cluster.mirrors.clone()),
        pods: base.runtime.view.clone(),
        containers: base.runtime.containers.clone(),
        streaming: Arc::new(base.cri.clone()),
        logs: Arc::new(NodeContainerLogs::new(pod_logs)),
        clock: base.clock.clone(),
        metrics,
        probes,
        process_started_at: process_started_at(),
        configz: settings.configz.clone(),
        diagnostics,
        tracer: base.spans.tracer.clone(),
        access: cluster.map(|cluster| cluster.access.clone() as Arc<dyn NodeAccess>),
    }
}

/// The agent's ports.
fn ports(
    settings: &Settings,
    base: &Base,
    cluster: Option<&mut Cluster>,
    plugins: &Arc<PluginHost>,
    node: Arc<dyn NodeWatch>,
    events: Arc<EventLog>,
) -> Ports {
    let mut sources = sources(&settings.manifests, base, &events);
    let mut statuses: Arc<dyn StatusSink> = Arc::new(NoStatuses);
    let mut objects: Arc<dyn ClusterObjects> = Arc::new(NoObjects);
    let mut secrets: Option<Arc<dyn PullSecrets>> = None;
    if let Some(cluster) = cluster {
        sources.extend(cluster.pods.take());
        statuses = cluster.statuses.clone();
        objects = cluster.objects.clone();
        secrets = Some(Arc::new(ClusterSecrets::new(objects.clone())));
    }
    let Folders { root, pod_logs, container_logs, .. } = &settings.folders;
    let plugin_sources = plugins.pod_sources(SourcesConfig {
        node_name: base.name.clone(),
        state: base.state.clone(),
        events: events.clone(),
        health: base.health.clone(),
        clock: base.clock.clone(),
        jitter: base.jitter.clone(),
    });
    Ports {
        probe_types: plugins.probes(),
        runtime: base.runtime.clone(),
        file_systems: Arc::new(NodeFileSystems::default()),
        admission: plugins.admission(),
        files: Arc::new(NodePodFiles::new(root, pod_logs)),
        state: base.state.clone(),
        cgroups: cgroup_drivers(settings),
        events,
        clock: base.clock.clone(),
        jitter: base.jitter.clone(),
        node,
        sources,
        plugin_sources: Some(plugin_sources),
        host: host_settings(settings),
        host_files: Arc::new(NodeHostFiles::new(settings.pods.resolv_conf.clone())),
        volumes: Arc::new(NodeVolumes::new(root)),
        container_files: Arc::new(NodeContainerFiles::new(root, pod_logs, container_logs)),
        container_logs: Arc::new(NodeContainerLogs::new(pod_logs)),
        credentials: Arc::new(NodeCredentials::new(settings.pods.registry_credentials.clone(), secrets)),
        pull_records: base.pull_records.clone(),
        hooks: Arc::new(HttpHooks::new(base.egress.share())),
        statuses,
        objects,
        eviction: EvictionPorts {
            node_reader: base.node_reader.clone(),
            kernel: base.kernel.clone(),
            stats: Arc::new(base.cri.clone()),
            storage: Arc::new(DiskUsage::new(root, pod_logs)),
            notifier: Arc::new(KernelMemoryNotifier::new(PodsCgroup::below(&settings.cgroups.root))),
        },
        tracer: base.spans.tracer.clone(),
    }
}

pub(crate) fn agent_settings(settings: &Settings) -> AgentSettings {
    let defaults = AgentSettings::default();
    AgentSettings {
        stop_pods_on_exit: settings.stop_pods_on_exit,
        readmit_on_restart: settings.readmit_on_restart,
        image_pulls: settings.pods.image_pulls,
        image_verification: settings.pods.image_verification.clone(),
        logs: settings.pods.logs,
        image_gc: settings.pods.image_gc,
        eviction: settings.eviction.clone(),
        container_gc: settings.pods.container_gc,
        requeue: RequeueIntervals { resync: settings.resync, ..defaults.requeue },
        ..defaults
    }
}

/// The ways to the kernel's cgroups. None on the embedded runtime, which has one process for all pods.
fn cgroup_drivers(settings: &Settings) -> CgroupDrivers {
    if settings.runtime.endpoint == embedded::ENDPOINT {
        return CgroupDrivers::default();
    }
    let cgroupfs = CgroupFs::system().inspect_err(|error| tracing::debug!(%error, "Failed to read cgroups"));
    let Ok(files) = cgroupfs else { return CgroupDrivers::default() };
    let systemd: Arc<dyn Cgroups> = Arc::new(SystemdCgroups::system(files.clone()));
    let system: Arc<dyn NodeSystem> = Arc::new(MachineSystem::new(files.clone()));
    CgroupDrivers { cgroupfs: Some(Arc::new(files)), systemd: Some(systemd), system: Some(system) }
}

/// The settings with what the machine says.
fn cgroup_settings(settings: &Settings) -> Result<CgroupSettings, RunError> {
    let CgroupResources { pids, cpus, page_bytes } = CgroupResources::read();
    if let Some(reserved) = &settings.reserved_cpus {
        let (reserved_set, online) = (cpu_set(reserved), cpu_set(&cpus));
        if !reserved_set.zip(online).is_some_and(|(reserved_set, online)| reserved_set.is_subset(&online)) {
            return Err(RunError::ReservedCpus { reserved: reserved.clone(), online: cpus });
        }
    }
    let mode = match settings.runtime.endpoint.as_str() {
        embedded::ENDPOINT if settings.cgroups.mode == CgroupMode::Kept => {
            tracing::info!(
                "Pods have no cgroups of their own: the embedded runtime runs all of them in one process, which enforces \
                 memory limits itself"
            );
            CgroupMode::Unsupported
        }
        _ => settings.cgroups.mode.clone(),
    };
    let memory_qos = settings.cgroups.memory_qos.map(|qos| MemoryQos { page_bytes, ..qos });
    let swap = match witlet_node::has_swap_controller() {
        true => settings.cgroups.swap,
        false => SwapBehavior::NoSwap,
    };
    Ok(CgroupSettings { mode, node_pids: pids, cpus, memory_qos, swap, ..settings.cgroups.clone() })
}

/// Returns what configurations of pods refer to.
fn host_settings(settings: &Settings) -> HostSettings {
    HostSettings {
        seccomp_root: settings.folders.root.join("seccomp"),
        seccomp_default: settings.pods.seccomp_default,
        cluster_dns: settings.pods.cluster_dns.clone(),
        cluster_domain: settings.pods.cluster_domain.clone(),
        runtime_classes: Arc::new(settings.pods.runtime_classes.clone()),
        swap_controller: witlet_node::has_swap_controller(),
        selinux: witlet_node::selinux_is_on(),
    }
}

/// The embedded runtime, if that is what was asked for.
async fn embedded(settings: &Settings) -> Result<Option<Embedded>, EmbeddedError> {
    if settings.runtime.endpoint != embedded::ENDPOINT {
        return Ok(None);
    }
    Embedded::start(&settings.folders).await.map(Some)
}

/// The node's own sources: manifests in files, and behind a URL.
fn sources(manifests: &Manifests, base: &Base, events: &Arc<EventLog>) -> Vec<Box<dyn PodSource>> {
    let mut sources: Vec<Box<dyn PodSource>> = Vec::new();
    if let Some(path) = &manifests.path {
        let period = manifests.path_period;
        let source = FileSource::new(path, &base.name, period, base.clock.clone(), events.clone());
        let source = source.inheriting(base.runtime.view.clone(), base.state.clone());
        let source = source.with_health(base.health.clone());
        sources.push(Box::new(source));
    }
    if let Some(url) = &manifests.url {
        let period = manifests.url_period;
        let source = HttpSource::new(url.clone(), &base.name, period, base.egress.share(), events.clone());
        let source = source.remembering(base.state.clone());
        let source = source.with_health(base.health.clone(), base.clock.clone());
        sources.push(Box::new(source));
    }
    sources
}

/// What runs next to the agent.
struct Sides {
    view: Arc<dyn AgentView>,
    api: LocalApi,
    socket: RootOnlySocket,
    endpoints: Endpoints,
    server: Arc<KubeletServer>,
    cluster: Option<Cluster>,
    sets: Option<(SetManager, Arc<PluginHost>)>,
    state: Arc<ReportedState>,
    events: Arc<EventLog>,
    exporter: Option<Exporter>,
}

/// Runs all parts until the process is asked to stop and the agent has ended.
async fn work(agent: Agent, sides: Sides, machine: &NodeInfo) -> Result<(), RunError> {
    let Sides { view, api, socket, endpoints, server, cluster, sets, state, events, exporter } = sides;
    let api = api.with_containers(server.clone());
    let stop = CancellationToken::new();
    // The endpoints answer until the agent has ended: a pod that takes its grace is worth checking. The API server receives
    // how pods ended.
    let ended = CancellationToken::new();
    let mut background = Parts::default();
    background.spawn_whole("the node's endpoints", endpoints.serve(server, ended.clone()));
    if let Some(cluster) = cluster {
        background.spawn_whole("the edge to the API server", cluster.run(view, ended.clone()));
    }
    if let Some((sets, host)) = sets {
        background.spawn("the choice of a set of plugins", sets.run(host, ended.clone()));
    }
    // The last spans are those of the other parts' ends.
    let (others_ended, mut export) = (CancellationToken::new(), Parts::default());
    if let Some(exporter) = exporter {
        export.spawn("the exporter of spans", exporter.run(others_ended.clone()));
    }
    let until = ended.clone();
    background.spawn("the watch of the state files", async move { state.run(&*events, &until).await });
    let work = async {
        let agent = async {
            let outcome = agent.run(stop.clone()).await;
            ended.cancel();
            outcome
        };
        let trim = witlet_node::heap::trim_regularly(ended.clone());
        let own = async {
            let (served, outcome, (), ()) =
                tokio::join!(api.serve(socket, ended.clone()), agent, machine.run(ended.clone()), trim);
            outcome?;
            served.map_err(RunError::Api)
        };
        let background = async { background.run(&ended).await.map_err(RunError::Part) };
        // The first error ends the process: the next life of the agent has all its parts.
        let others = async {
            tokio::try_join!(own, background)?;
            others_ended.cancel();
            Ok(())
        };
        let export = async { export.run(&others_ended).await.map_err(RunError::Part) };
        tokio::try_join!(others, export).map(|((), ())| ())
    };
    signals::stopping(work, stop.clone()).await
}

/// Makes a folder that only its owner can enter, unless it is there.
fn create_folder(path: &Path) -> Result<(), RunError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| RunError::Folder { path: path.to_owned(), cause })
}

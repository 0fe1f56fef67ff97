//! `witlet run`: puts the parts together, and takes them apart again. No other file knows all of them.

mod embedded;
mod lock;
pub(crate) mod plugins;
mod pods;
mod runtime_facts;
pub(crate) mod signals;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit};
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_agent::{Agent, AgentConfig, EventLog, LogLimits, Ports};
use witlet_cri::{ConnectError, CriClient, CriOptions, Deadlines, EndpointError};
use witlet_egress::{Egress, HttpHooks};
use witlet_node::{
    FileSource, FileStateStore, HttpSource, ManifestUrl, ManifestUrlError, NodeContainerFiles,
    NodeContainerLogs, NodeCredentials, NodeError, NodeHostFiles, NodeInfo, NodeOptions, NodePodFiles,
    NodeVolumes, SystemClock, ThreadJitter,
};
use witlet_oci::RegistryError;
use witlet_ports::{NoObjects, NoStatuses, NodeWatch, PodSource, Runtime};
use witlet_server::{BindError, LocalApi, PluginView, RootOnlySocket};
use witlet_wasm::host::{PluginHost, SourcesConfig, StartError};

use crate::cli::RunArgs;
use crate::run::embedded::{Embedded, EmbeddedError};
use crate::run::lock::{LockError, RootLock};
use crate::run::pods::PodArgsError;
use crate::run::runtime_facts::RuntimeFacts;

/// Why the agent doesn't start.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    /// A folder of the agent's can't be made.
    #[error(
        "create {}; run the agent as root, or give it folders of its own: --root-dir, --pod-logs-dir, --api-socket",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The agent's folder isn't this process's.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// `--container-runtime-endpoint` or `--image-service-endpoint` is no endpoint.
    #[error("--{flag}")]
    Endpoint {
        /// The flag.
        flag: &'static str,
        /// What is wrong with it.
        #[source]
        cause: EndpointError,
    },
    /// No client of the runtime could be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The embedded runtime doesn't start.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// A label isn't `KEY=VALUE`.
    #[error("--node-labels: {label:?} isn't KEY=VALUE")]
    Label {
        /// What was given.
        label: String,
    },
    /// A flag about pods makes no sense.
    #[error(transparent)]
    Pods(#[from] PodArgsError),
    /// `--manifest-url` or a header makes no sense.
    #[error("--manifest-url")]
    ManifestUrl(#[from] ManifestUrlError),
    /// The folder of components from registries can't be used.
    #[error(transparent)]
    Registries(#[from] RegistryError),
    /// The machine can't be described.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The plugin host doesn't start.
    #[error(transparent)]
    Plugins(#[from] StartError),
    /// The local API has no socket.
    #[error(transparent)]
    Socket(#[from] BindError),
    /// The local API failed.
    #[error("serve the local API")]
    Api(#[source] std::io::Error),
}

/// What the local API shows of the plugins.
struct ShownPlugins(Arc<PluginHost>);

impl PluginView for ShownPlugins {
    fn plugins(&self) -> Vec<Value> {
        // A status has no value without a JSON form.
        self.0.list().iter().map(|status| serde_json::to_value(status).unwrap_or_default()).collect()
    }
}

/// Runs the agent until the process is asked to stop.
pub(crate) async fn run(mut args: RunArgs) -> Result<(), RunError> {
    // Runtimes take absolute paths only, and an embedded one may have another working directory.
    for path in [&mut args.root_dir, &mut args.pod_logs_dir, &mut args.image_root] {
        let absolute = std::path::absolute(&*path);
        *path = absolute.map_err(|cause| RunError::Folder { path: path.clone(), cause })?;
    }
    raise_file_limit();
    let (host, logs) = (pods::host_settings(&args)?, pods::log_limits(&args.pods)?);
    create_folder(&args.root_dir)?;
    let _lock = RootLock::take(&args.root_dir)?;
    let clock = Arc::new(SystemClock);
    let events = Arc::new(EventLog::new(clock.clone()));
    let node = Arc::new(NodeInfo::new(node_options(&args)?, &*clock)?);
    let node_name = node.current().name.clone();
    let socket = RootOnlySocket::bind(&args.api_socket).await?;
    let egress = Egress::system();
    let sources = sources(&args, &node_name, &egress, &clock, &events)?;
    let mut runtime = runtime(&args, clock.clone())?;
    runtime.info = Arc::new(RuntimeFacts::new(runtime.info, node.clone()));
    let around = plugins::Node {
        info: node.clone(),
        containers: runtime.containers.clone(),
        clock: clock.clone(),
        events: events.clone(),
        egress: egress.share(),
    };
    let plugins = PluginHost::start(plugins::host_config(&args, around)?).await?;
    // Last of what can fail: an embedded runtime that was started goes on without the agent.
    let embedded = embedded(&args).await?;
    let links = pods::container_logs_dir(&args);
    let state = Arc::new(FileStateStore::new(args.root_dir.join("state")));
    let jitter = Arc::new(ThreadJitter);
    let plugin_sources = plugins.pod_sources(SourcesConfig {
        node_name: node_name.clone(),
        state: state.clone(),
        events: events.clone(),
        jitter: jitter.clone(),
    });
    let ports = Ports {
        probe_types: plugins.probes(),
        runtime,
        admission: plugins.admission(),
        files: Arc::new(NodePodFiles::new(&args.root_dir, &args.pod_logs_dir)),
        state,
        events,
        clock,
        jitter,
        node: node.clone() as Arc<dyn NodeWatch>,
        sources,
        plugin_sources: Some(plugin_sources),
        host,
        host_files: Arc::new(NodeHostFiles::new(pods::resolv_conf(&args.pods))),
        volumes: Arc::new(NodeVolumes::new(&args.root_dir)),
        container_files: Arc::new(NodeContainerFiles::new(&args.root_dir, &args.pod_logs_dir, &links)),
        container_logs: Arc::new(NodeContainerLogs::new(&args.pod_logs_dir)),
        credentials: Arc::new(NodeCredentials::new(args.pods.registry_credentials.clone(), None)),
        hooks: Arc::new(HttpHooks::new(egress.share())),
        statuses: Arc::new(NoStatuses),
        objects: Arc::new(NoObjects),
    };
    let (agent, handle) = Agent::new(ports, agent_config(&args, logs));
    let metrics = Box::new(plugins.metrics());
    let api = LocalApi::new(Arc::new(handle), Arc::new(ShownPlugins(plugins))).with_collector(metrics);

    tracing::info!(node = %node_name, manifests = %args.pod_manifest_path.display(), "witlet runs");
    work(agent, api, socket, &node).await?;
    if let Some(embedded) = embedded.filter(|_| args.stop_pods_on_exit) {
        embedded.stop().await?;
    }
    tracing::info!("witlet has ended");
    Ok(())
}

fn agent_config(args: &RunArgs, logs: LogLimits) -> AgentConfig {
    AgentConfig {
        stop_pods_on_exit: args.stop_pods_on_exit,
        readmit_on_restart: args.readmit_on_restart,
        image_pulls: pods::image_pulls(&args.pods),
        logs,
        ..AgentConfig::default()
    }
}

/// The embedded runtime, if that is what was asked for.
async fn embedded(args: &RunArgs) -> Result<Option<Embedded>, EmbeddedError> {
    if args.container_runtime_endpoint != embedded::ENDPOINT {
        return Ok(None);
    }
    Embedded::start(&args.root_dir, &args.image_root).await.map(Some)
}

/// The node's own sources: manifests in files, and behind a URL.
fn sources(
    args: &RunArgs,
    node_name: &str,
    egress: &Egress,
    clock: &Arc<SystemClock>,
    events: &Arc<EventLog>,
) -> Result<Vec<Box<dyn PodSource>>, ManifestUrlError> {
    let path = &args.pod_manifest_path;
    let period = Duration::from_secs(args.file_check_frequency);
    let files = FileSource::new(path, node_name, period, clock.clone(), events.clone());
    let mut sources: Vec<Box<dyn PodSource>> = vec![Box::new(files)];
    if let Some(url) = args.manifest_url.as_deref().filter(|url| !url.is_empty()) {
        let url = ManifestUrl::new(url, &args.manifest_url_header)?;
        let period = Duration::from_secs(args.http_check_frequency);
        sources.push(Box::new(HttpSource::new(url, node_name, period, egress.share(), events.clone())));
    }
    Ok(sources)
}

/// Runs all parts until the process is asked to stop and the agent has ended.
async fn work(agent: Agent, api: LocalApi, socket: RootOnlySocket, node: &NodeInfo) -> Result<(), RunError> {
    let stop = CancellationToken::new();
    // The API answers until the agent has ended: a pod that takes its grace is worth looking at.
    let ended = CancellationToken::new();
    let work = async {
        let agent = async {
            agent.run(stop.clone()).await;
            ended.cancel();
        };
        let trim = witlet_node::heap::trim_regularly(ended.clone());
        let (served, (), (), ()) =
            tokio::join!(api.serve(socket, ended.clone()), agent, node.run(ended.clone()), trim);
        served.map_err(RunError::Api)
    };
    signals::stopping(work, stop.clone()).await
}

/// The runtime's ports. Nothing is asked of it yet.
fn runtime(args: &RunArgs, clock: Arc<SystemClock>) -> Result<Runtime, RunError> {
    let endpoint = |flag, text: &str| text.parse().map_err(|cause| RunError::Endpoint { flag, cause });
    let image_endpoint = match &args.image_service_endpoint {
        Some(text) => Some(endpoint("image-service-endpoint", text)?),
        None => None,
    };
    let address = if args.container_runtime_endpoint == embedded::ENDPOINT {
        Embedded::endpoint_of(&args.root_dir)
    } else {
        args.container_runtime_endpoint.clone()
    };
    let options = CriOptions {
        endpoint: endpoint("container-runtime-endpoint", &address)?,
        image_endpoint,
        deadlines: Deadlines::default(),
    };
    Ok(CriClient::new(options, clock)?.into_runtime())
}

fn node_options(args: &RunArgs) -> Result<NodeOptions, RunError> {
    let pair = |label: &String| match label.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err(RunError::Label { label: label.clone() }),
    };
    Ok(NodeOptions {
        name: args.node_name.clone(),
        max_pods: args.max_pods,
        labels: args.node_labels.iter().map(pair).collect::<Result<BTreeMap<_, _>, _>>()?,
        root: args.root_dir.clone(),
    })
}

/// Every probe that runs is a socket, and there may be more of them than the files that a process gets by default.
fn raise_file_limit() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Makes a folder that only its owner can enter, unless it is there.
fn create_folder(path: &std::path::Path) -> Result<(), RunError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| RunError::Folder { path: path.to_owned(), cause })
}

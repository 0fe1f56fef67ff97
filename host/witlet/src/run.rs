//! `witlet run`: puts the parts together, and takes them apart again. No other file knows all of them.

mod embedded;
mod lock;
mod pods;
pub(crate) mod signals;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit};
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_agent::{Agent, AgentConfig, EventLog, Ports};
use witlet_cri::{ConnectError, CriClient, CriOptions, Deadlines, EndpointError};
use witlet_egress::{Egress, HttpHooks};
use witlet_node::{
    FileSource, FileStateStore, NodeContainerFiles, NodeContainerLogs, NodeCredentials, NodeError,
    NodeHostFiles, NodeInfo, NodeOptions, NodePodFiles, NodeVolumes, SystemClock, ThreadJitter,
};
use witlet_ports::{NodeWatch, Runtime};
use witlet_server::{BindError, LocalApi, PluginView, RootOnlySocket};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{Builtin, PluginHost, PluginHostConfig, StartError};

use crate::cli::RunArgs;
use crate::run::embedded::{Embedded, EmbeddedError};
use crate::run::lock::{LockError, RootLock};
use crate::run::pods::PodArgsError;

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

/// The components of this binary, in the order in which they are asked.
pub(crate) fn builtins() -> Vec<Builtin> {
    let builtins = witlet_plugins::ADMISSION.iter();
    builtins.map(|shipped| Builtin { name: shipped.name, component: shipped.component }).collect()
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
    let plugins = PluginHost::start(PluginHostConfig {
        compiler: CompilerConfig::new(args.root_dir.join("plugins")),
        plugins_file: args.plugins.clone(),
        builtins: builtins(),
        clock: clock.clone(),
        events: events.clone(),
    })
    .await?;
    // Last of what can fail: an embedded runtime that was started goes on without the agent.
    let (runtime, embedded) = runtime(&args, clock.clone()).await?;
    let links = pods::container_logs_dir(&args);
    let source = FileSource::new(
        &args.pod_manifest_path,
        &node_name,
        Duration::from_secs(args.file_check_frequency),
        clock.clone(),
        events.clone(),
    );
    let ports = Ports {
        probe_types: Arc::new(PlainProbes::new(runtime.containers.clone())),
        runtime,
        admission: plugins.admission(),
        files: Arc::new(NodePodFiles::new(&args.root_dir, &args.pod_logs_dir)),
        state: Arc::new(FileStateStore::new(args.root_dir.join("state"))),
        events,
        clock,
        jitter: Arc::new(ThreadJitter),
        node: node.clone() as Arc<dyn NodeWatch>,
        sources: vec![Box::new(source)],
        host,
        host_files: Arc::new(NodeHostFiles::new(pods::resolv_conf(&args.pods))),
        volumes: Arc::new(NodeVolumes::new(&args.root_dir)),
        container_files: Arc::new(NodeContainerFiles::new(&args.root_dir, &args.pod_logs_dir, &links)),
        container_logs: Arc::new(NodeContainerLogs::new(&args.pod_logs_dir)),
        credentials: Arc::new(NodeCredentials::new(args.pods.registry_credentials.clone(), None)),
        hooks: Arc::new(HttpHooks::new(Egress::system())),
    };
    let config = AgentConfig {
        stop_pods_on_exit: args.stop_pods_on_exit,
        readmit_on_restart: args.readmit_on_restart,
        image_pulls: pods::image_pulls(&args.pods),
        logs,
        ..AgentConfig::default()
    };
    let (agent, handle) = Agent::new(ports, config);
    let api = LocalApi::new(Arc::new(handle), Arc::new(ShownPlugins(plugins)));

    tracing::info!(node = %node_name, manifests = %args.pod_manifest_path.display(), "witlet runs");
    work(agent, api, socket, &node).await?;
    if let Some(embedded) = embedded.filter(|_| args.stop_pods_on_exit) {
        embedded.stop().await?;
    }
    tracing::info!("witlet has ended");
    Ok(())
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

/// The runtime's ports, and the embedded runtime if that is what was asked for.
async fn runtime(args: &RunArgs, clock: Arc<SystemClock>) -> Result<(Runtime, Option<Embedded>), RunError> {
    let endpoint = |flag, text: &str| text.parse().map_err(|cause| RunError::Endpoint { flag, cause });
    let image_endpoint = match &args.image_service_endpoint {
        Some(text) => Some(endpoint("image-service-endpoint", text)?),
        None => None,
    };
    let embedded = if args.container_runtime_endpoint == embedded::ENDPOINT {
        Some(Embedded::start(&args.root_dir, &args.image_root).await?)
    } else {
        None
    };
    let address = match &embedded {
        Some(embedded) => embedded.endpoint(),
        None => args.container_runtime_endpoint.clone(),
    };
    let options = CriOptions {
        endpoint: endpoint("container-runtime-endpoint", &address)?,
        image_endpoint,
        deadlines: Deadlines::default(),
    };
    Ok((CriClient::new(options, clock)?.into_runtime(), embedded))
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

//! The plugins of this node: loaded next to the start, swapped when their files change, asked in their order.

mod admission;
mod data;
mod decision_log;
mod explanation;
mod files;
mod last_good;
mod probes;
mod retry;
mod rollout;
mod secrets;
mod set;
mod shadow;
mod shadow_calls;
mod shadow_queue;
mod sources;
mod supervisor;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

pub use data::DataConfig;
pub use explanation::{Explanation, HandlerAnswer, HandlerReport, HandlerStep};
pub use sources::SourcesConfig;
use thiserror::Error;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use wasmtime::Engine;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_egress::Egress;
use witlet_ports::{
    Admission, Clock, CommandRunner, ComponentFetcher, EventSink, NodeWatch, ProbeTypes, Tracer,
};

use crate::compile::{CacheError, Compiler, CompilerConfig};
use crate::engine::{self, EngineError};
use crate::guest::known_node::KnownNode;
use crate::guest::{GuestServices, LogTap, Secrets};
use crate::limits::{EpochTicker, TickerError};
use crate::metrics::Metrics;
use crate::plugin::async_engine::AsyncHost;
use crate::plugin::config::{ConfigError, SkippedEntry};
use crate::plugin::{
    Builtin, CallError, Caller, HealthChange, Loader, LoaderParts, Plugin, PluginState, PluginStatus,
    RolloutStatus,
};
use crate::record::{Recorder, RecorderConfig};

/// How often files, quarantines and idle instances are checked.
const MAINTENANCE_PERIOD: Duration = Duration::from_secs(1);
/// How many plugins are read, fetched, compiled or validated at the same time: each holds its component's bytes.
const LOADS_MAX: usize = 4;
/// How many plugins from registries next to these: a registry may take minutes for each.
const PULLS_MAX: usize = 2;

/// What the host needs.
pub struct PluginHostConfig {
    /// The compiling child and the cache of its results.
    pub compiler: CompilerConfig,
    /// The `--plugins` file, if there is one.
    pub plugins_file: Option<PathBuf>,
    /// Handlers among them are asked first, in this order.
    pub builtins: Vec<Builtin>,
    /// Components that are off unless an entry names them (`builtin:NAME`).
    pub shipped: Vec<(&'static str, &'static [u8])>,
    /// Brings components from registries; without it entries with `oci://` don't load.
    pub fetcher: Option<Arc<dyn ComponentFetcher>>,
    /// Runs commands in probed containers; without it the grant `exec` finds no runtime.
    pub containers: Option<Arc<dyn CommandRunner>>,
    /// Gets a folder for each plugin with the grant `state`; without it such plugins don't load.
    pub state_folder: Option<PathBuf>,
    /// Keeps the last set of plugins that was loaded as a whole, and where rollouts stand. With it a start goes on with that set where the configuration
    /// can't be taken or a component doesn't load, and with the built-ins where no set is kept; without it a bad configuration
    /// fails the start.
    pub last_good_folder: Option<PathBuf>,
    /// What the data of entries need.
    pub data: DataConfig,
    /// Gets the decision log, if the configuration wants one; without it none is written.
    pub decision_log_folder: Option<PathBuf>,
    /// Whether the node has an API server: then static pods are system pods, which a handler is asked about only if its entry
    /// says so.
    pub in_cluster: bool,
    /// Reads the node again before a handler's rejection counts; without it the request's node is the newest.
    pub node: Option<Arc<dyn NodeWatch>>,
    /// Where calls are recorded of entries that say so; without it none are.
    pub recorder: Option<RecorderConfig>,
    /// Wall time for `validate`.
    pub clock: Arc<dyn Clock>,
    /// Receives events about quarantines, swaps, shadows that differ, and broken files.
    pub events: Arc<dyn EventSink>,
    /// Whose spans calls are.
    pub tracer: Tracer,
}

/// A plugin file that may serve, and where its last good plugins are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginFile {
    /// The file; none has the built-ins serve alone.
    pub path: Option<PathBuf>,
    /// See [`PluginHostConfig::last_good_folder`].
    pub last_good_folder: Option<PathBuf>,
}

/// Why the host couldn't start. A single plugin that can't be loaded isn't a reason: its failure policy answers for
/// it.
#[derive(Debug, Error)]
pub enum StartError {
    /// The engine couldn't be made.
    #[error("failed to start the plugin engine")]
    Engine(#[from] EngineError),
    /// The contracts couldn't be linked to the engine.
    #[error("failed to link the host's functions: {message}")]
    Linker { message: String },
    /// The epoch thread couldn't be started.
    #[error(transparent)]
    Ticker(#[from] TickerError),
    /// The cache of compiled code can't be used.
    #[error("failed to open the cache of compiled plugins")]
    Cache(#[from] CacheError),
    /// The configuration can't be read or taken.
    #[error(transparent)]
    Configuration(#[from] FileError),
}

/// The `--plugins` file isn't taken.
#[derive(Debug, Error)]
pub enum FileError {
    /// It can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// It can be read, and is wrong.
    #[error("{}", path.display())]
    Content {
        path: PathBuf,
        #[source]
        cause: ConfigError,
    },
}

/// All plugins. Cheap calls; everything slow happens on its own tasks, which end when the host is dropped.
pub struct PluginHost {
    shared: Arc<Shared>,
    tried: watch::Receiver<bool>,
    check: Arc<Notify>,
    /// The plugin file, which may be another than at the start.
    file: watch::Sender<PluginFile>,
    _tasks: JoinSet<()>,
}

/// What plugins may be given of the node, where there is one.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub(crate) fetcher: Option<Arc<dyn ComponentFetcher>>,
    pub(crate) containers: Option<Arc<dyn CommandRunner>>,
    pub(crate) state_folder: Option<PathBuf>,
    pub(crate) node: Option<Arc<dyn NodeWatch>>,
    pub(crate) metrics: Metrics,
    /// For trying handlers out: none times out because other programs have the processors, and this receives what they log.
    pub(crate) trial_log: Option<LogTap>,
}

/// What it takes to load and call plugins.
pub(crate) struct PluginServices {
    pub(crate) engine: Engine,
    pub(crate) caller: Caller,
    pub(crate) loader: Loader,
    pub(crate) secrets: Arc<Secrets>,
}

impl PluginServices {
    pub(crate) fn new(
        compiler: CompilerConfig,
        clock: Arc<dyn Clock>,
        surroundings: Surroundings,
    ) -> Result<Self, StartError> {
        let engine = engine::synchronous()?;
        let ticker = Arc::new(EpochTicker::start(&engine, crate::plugin::EPOCH_PERIOD)?);
        let compiler = Arc::new(Compiler::new(compiler)?);
        let caller = Caller::new(engine.clone(), ticker, clock);
        let secrets = Arc::new(Secrets::default());
        let Surroundings { fetcher, containers, state_folder, node, metrics, trial_log } = surroundings;
        let node = node.map(|node| KnownNode::watched(&*node)).unwrap_or_default();
        let async_host = AsyncHost::new(Egress::system());
        let parts = LoaderParts {
            compiler,
            caller: caller.clone(),
            async_host,
            fetcher,
            given: GuestServices {
                secrets: secrets.clone(),
                containers,
                node,
                metrics,
                state_folder,
                prolongs_calls: trial_log.is_some(),
                log: trial_log,
                ..GuestServices::default()
            },
        };
        let loader = Loader::new(engine.clone(), parts)
            .map_err(|error| StartError::Linker { message: format!("{error:#}") })?;
        Ok(Self { engine, caller, loader, secrets })
    }
}

pub(crate) struct Shared {
    loader: Loader,
    caller: Caller,
    loads: Semaphore,
    pulls: Semaphore,
    secrets: Arc<Secrets>,
    /// In the order in which they are asked. Replaced as a whole; calls keep the set that they began with.
    plugins: RwLock<Arc<[Arc<Plugin>]>>,
    /// Why the newest content of the file isn't what runs.
    file_error: Mutex<Option<String>>,
    /// Optional entries of the file that require what this host doesn't have.
    skipped: Mutex<Vec<SkippedEntry>>,
    /// Why secrets can't be had, each in one sentence.
    secret_errors: Mutex<Vec<String>>,
    generation: watch::Sender<u64>,
    metrics: Metrics,
    recorder: Option<Recorder>,
    decision_log: Option<decision_log::DecisionLog>,
    in_cluster: bool,
    node: Option<Arc<dyn NodeWatch>>,
    /// Requests that are being decided: shadows wait for none.
    deciding: AtomicUsize,
    /// Where handlers stand that take another's place.
    rollouts: rollout::Rollouts,
    shadows: shadow_queue::ShadowQueue,
    shadow_calls: shadow_calls::ShadowCalls,
    clock: Arc<dyn Clock>,
    events: Arc<dyn EventSink>,
    /// What handlers log that are tried out; none in a daemon.
    trial_log: Option<LogTap>,
    tracer: Tracer,
}

impl PluginHost {
    /// Loads the built-ins. Configured plugins load next to what follows: until one is there, its failure policy answers
    /// for it.
    ///
    /// # Errors
    /// When nothing can work; when the configuration can't be taken and there is no folder for the last good one.
    pub async fn start(config: PluginHostConfig) -> Result<Arc<Self>, StartError> {
        Self::start_as(config, None).await
    }

    async fn start_as(config: PluginHostConfig, trial_log: Option<LogTap>) -> Result<Arc<Self>, StartError> {
        let PluginHostConfig { compiler, clock, events, .. } = config;
        let wall_clock = clock.clone();
        let metrics = Metrics::default();
        let surroundings = Surroundings {
            fetcher: config.fetcher,
            containers: config.containers,
            state_folder: config.state_folder,
            node: config.node.clone(),
            metrics: metrics.clone(),
            trial_log: trial_log.clone(),
        };
        let node = config.node.as_ref().map(|node| KnownNode::watched(&**node)).unwrap_or_default();
        let PluginServices { engine: _, caller, loader, secrets } =
            PluginServices::new(compiler, clock, surroundings)?;
        let (shadows, requests) = shadow_queue::queue();
        let (shadow_calls, calls) = shadow_calls::queue();
        let shared = Arc::new(Shared {
            loader,
            caller,
            loads: Semaphore::new(LOADS_MAX),
            pulls: Semaphore::new(PULLS_MAX),
            secrets,
            plugins: RwLock::new(Arc::new([])),
            file_error: Mutex::default(),
            skipped: Mutex::default(),
            secret_errors: Mutex::default(),
            generation: watch::Sender::new(0),
            metrics,
            recorder: config.recorder.map(Recorder::start),
            decision_log: config.decision_log_folder.map(decision_log::DecisionLog::start),
            in_cluster: config.in_cluster,
            node: config.node,
            deciding: AtomicUsize::new(0),
            rollouts: rollout::Rollouts::new(),
            shadows,
            shadow_calls,
            clock: wall_clock.clone(),
            events,
            trial_log,
            tracer: config.tracer,
        });
        let (file, files) = watch::channel(PluginFile {
            path: config.plugins_file.clone(),
            last_good_folder: config.last_good_folder.clone(),
        });
        let sources = supervisor::Sources {
            plugins_file: config.plugins_file,
            builtins: config.builtins,
            shipped: config.shipped,
            last_good: config.last_good_folder.map(last_good::LastGood::new),
            node,
            data: data::DataStore::new(config.data, wall_clock),
        };
        let (supervisor, tried) = supervisor::Supervisor::start(&shared, sources).await?;
        let (mut tasks, check) = (JoinSet::new(), Arc::new(Notify::new()));
        tasks.spawn(supervisor.run(Arc::downgrade(&shared), check.clone(), files));
        tasks.spawn(shadow::run(Arc::downgrade(&shared), requests));
        tasks.spawn(shadow_calls::run(Arc::downgrade(&shared), calls));
        Ok(Arc::new(Self { shared, tried, check, file, _tasks: tasks }))
    }

    /// Returns when each configured plugin was loaded, or couldn't be, once.
    pub async fn ready(&self) {
        let mut tried = self.tried.clone();
        // Only a host that ends forgets to tell, and then there is nothing to wait for.
        let all_tried = tried.wait_for(|tried| *tried).await.is_ok();
        tracing::debug!(all_tried, "Loaded plugins");
    }

    /// Has the files checked now, not only with the next second. Returns before that.
    pub fn check_inputs(&self) {
        self.check.notify_one();
    }

    /// The port that the agent asks.
    pub fn admission(&self) -> Arc<dyn Admission> {
        Arc::new(admission::HostAdmission::new(self.shared.clone()))
    }

    /// The port to probe types.
    pub fn probes(&self) -> Arc<dyn ProbeTypes> {
        Arc::new(probes::HostProbes::new(self.shared.clone()))
    }

    /// Returns all plugins in the order in which they are asked.
    pub fn list(&self) -> Vec<PluginStatus> {
        let now = Instant::now();
        let shared = &self.shared;
        let status = |plugin: &Arc<Plugin>| {
            let rollout = shared.rollouts.status(plugin, now);
            PluginStatus { rollout, ..plugin.status(now) }
        };
        shared.plugins().iter().map(status).collect()
    }

    /// The numbers of all plugins, for a registry of metrics.
    pub fn metrics(&self) -> Metrics {
        self.shared.metrics.clone()
    }

    /// Why the newest content of the `--plugins` file isn't what runs; none if it is.
    pub fn file_error(&self) -> Option<String> {
        lock(&self.shared.file_error).clone()
    }

    /// Optional entries of the `--plugins` file that aren't used, because they require what this host doesn't have.
    pub fn skipped(&self) -> Vec<SkippedEntry> {
        lock(&self.shared.skipped).clone()
    }

    /// Whether there is a plugin file.
    pub fn is_configured(&self) -> bool {
        self.file.borrow().path.is_some()
    }

    /// Has this file serve in place of the one before, or no file. Returns before that. Its plugins swap as those of a changed file
    /// do: what runs goes on until the new is loaded.
    pub fn use_file(&self, other: PluginFile) {
        self.file.send_if_modified(|file| {
            let is_other = *file != other;
            *file = other;
            is_other
        });
    }

    /// Why not everything that the `--plugins` file names is loaded as it has it, a sentence for each; empty if it is.
    pub fn problems(&self) -> Vec<String> {
        // Before the plugins: a file's error goes once what it names is being loaded.
        let (file, secrets) = (self.file_error(), self.secret_errors());
        let plugins = self.list().into_iter().flat_map(|plugin| {
            let PluginStatus { name, state, detail, pending, data, .. } = plugin;
            // Data that are old, but not too old, are what the plugin is to go on with.
            let stale = data.into_iter().filter(|data| data.too_old);
            let stale: Vec<String> = stale
                .map(|data| {
                    let problem = data.problem.map(|problem| format!(": {problem}")).unwrap_or_default();
                    format!("plugin {name:?} has data {:?} older than their maxAge{problem}", data.name)
                })
                .collect();
            let loaded = match (state, pending) {
                (PluginState::Loading, _) => Some(format!("plugin {name:?} is being loaded")),
                (PluginState::Failed, _) => {
                    Some(format!("plugin {name:?} is not loaded: {}", detail.unwrap_or_default()))
                }
                (PluginState::Ready | PluginState::Quarantined, Some(why)) => {
                    Some(format!("plugin {name:?} runs an earlier version: {why}"))
                }
                (PluginState::Ready | PluginState::Quarantined, None) => None,
            };
            loaded.into_iter().chain(stale)
        });
        file.into_iter().chain(secrets).chain(plugins).collect()
    }

    /// Rollouts that were reverted, a sentence for each.
    pub fn reverted_rollouts(&self) -> Vec<String> {
        let reverted = |plugin: PluginStatus| {
            let RolloutStatus { of, message, .. } = plugin.rollout?;
            Some(format!("plugin {:?} was reverted to {of:?}: {}", plugin.name, message?))
        };
        self.list().into_iter().filter_map(reverted).collect()
    }

    /// Why secrets of the `--plugins` file can't be had, a sentence for each; empty if all can.
    pub fn secret_errors(&self) -> Vec<String> {
        lock(&self.shared.secret_errors).clone()
    }
}

impl Shared {
    /// The set as it is now.
    pub(crate) fn plugins(&self) -> Arc<[Arc<Plugin>]> {
        self.plugins.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells about a change of a plugin's health; `error` is the failure that made it.
    pub(crate) fn report_change(&self, name: &str, change: HealthChange, error: Option<&CallError>) {
        let (kind, reason, message) = match change {
            HealthChange::Quarantined { lasts } => (
                EventType::Warning,
                "PluginQuarantined",
                format!(
                    "Plugin is in quarantine for {}s: {}",
                    lasts.as_secs(),
                    error.map(CallError::sentence).unwrap_or_default()
                ),
            ),
            HealthChange::Recovered => {
                (EventType::Normal, "PluginRecovered", "Plugin recovered from quarantine".to_owned())
            }
        };
        tracing::warn!(plugin = name, reason, "{message}");
        self.record_event(name, kind, reason, message);
    }

    fn record_event(&self, plugin: &str, kind: EventType, reason: &str, message: String) {
        let object = EventObject::Plugin(plugin.to_owned());
        self.events.record(Event::new(object, kind, reason, message));
    }

    /// An event about a file of the operator's.
    fn report_file(&self, source: &str, place: &Path, reason: &str, message: String) {
        let object = EventObject::Source { source: source.to_owned(), place: place.display().to_string() };
        self.events.record(Event::warning(object, reason, message));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

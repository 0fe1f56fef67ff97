//! The plugins of this node: loaded at start, reloaded when their files change, asked in their order.

mod admission;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wasmtime::Engine;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::{Admission, Clock, EventSink};

use crate::compile::{CacheError, Compiler, CompilerConfig};
use crate::engine::{self, EngineError};
use crate::limits::{EpochTicker, TickerError};
use crate::plugin::config::{self, ConfigError};
use crate::plugin::{Caller, LoadError, Loader, Plugin, PluginStatus, Spec};

/// How often files, quarantines and idle instances are looked at.
const MAINTENANCE_PERIOD: Duration = Duration::from_secs(1);

/// A component that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name, which no configured plugin may take.
    pub name: &'static str,
    /// The component.
    pub component: &'static [u8],
}

/// What the host needs.
pub struct PluginHostConfig {
    /// The compiling child and the cache of its results.
    pub compiler: CompilerConfig,
    /// The `--plugins` file, if there is one.
    pub plugins_file: Option<PathBuf>,
    /// Asked first, in this order.
    pub builtins: Vec<Builtin>,
    /// Wall time for `validate`.
    pub clock: Arc<dyn Clock>,
    /// Hears of quarantines and broken files.
    pub events: Arc<dyn EventSink>,
}

/// Why the host couldn't start. A single plugin that can't be loaded isn't a reason: its failure policy answers for
/// it.
#[derive(Debug, Error)]
pub enum StartError {
    /// The engine couldn't be made.
    #[error("start the plugin engine")]
    Engine(#[from] EngineError),
    /// The contracts couldn't be linked to the engine.
    #[error("link the host's functions: {message}")]
    Linker {
        /// The engine's words.
        message: String,
    },
    /// The epoch thread couldn't be started.
    #[error(transparent)]
    Ticker(#[from] TickerError),
    /// The cache of compiled code can't be used.
    #[error("open the cache of compiled plugins")]
    Cache(#[from] CacheError),
    /// The configuration can't be read or taken.
    #[error(transparent)]
    Configuration(#[from] FileError),
}

/// The `--plugins` file isn't taken.
#[derive(Debug, Error)]
pub enum FileError {
    /// It can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It can be read, and is wrong.
    #[error("{}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        cause: ConfigError,
    },
}

/// All plugins. Cheap calls; everything slow happens on its own tasks, which end when the host is dropped.
pub struct PluginHost {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

/// What it takes to load and call plugins.
pub(crate) struct Machinery {
    pub(crate) engine: Engine,
    pub(crate) caller: Caller,
    pub(crate) loader: Loader,
}

impl Machinery {
    pub(crate) fn new(compiler: CompilerConfig, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let engine = engine::synchronous()?;
        let ticker = Arc::new(EpochTicker::start(&engine, crate::plugin::EPOCH_PERIOD)?);
        let compiler = Arc::new(Compiler::new(compiler)?);
        let caller = Caller::new(engine.clone(), ticker, clock);
        let loader = Loader::new(engine.clone(), compiler, caller.clone())
            .map_err(|error| StartError::Linker { message: format!("{error:#}") })?;
        Ok(Self { engine, caller, loader })
    }
}

struct Shared {
    loader: Loader,
    caller: Caller,
    /// In the order in which they are asked. Replaced as a whole; calls keep the set that they began with.
    plugins: RwLock<Arc<[Arc<Plugin>]>>,
    plugins_file: Option<PathBuf>,
    /// Why the newest content of the file isn't what runs.
    file_error: Mutex<Option<String>>,
    builtins: Vec<Builtin>,
    generation: watch::Sender<u64>,
    events: Arc<dyn EventSink>,
}

impl PluginHost {
    /// Loads everything. Fails when nothing can work, or when the configuration file is wrong: there is no older one
    /// to go on with.
    pub async fn start(config: PluginHostConfig) -> Result<Arc<Self>, StartError> {
        let PluginHostConfig { compiler, plugins_file, builtins, clock, events } = config;
        let Machinery { engine: _, caller, loader } = Machinery::new(compiler, clock)?;
        let shared = Arc::new(Shared {
            loader,
            caller,
            plugins: RwLock::new(Arc::new([])),
            plugins_file,
            file_error: Mutex::default(),
            builtins,
            generation: watch::Sender::new(0),
            events,
        });
        let (specs, watcher) = reload::Watcher::start(&shared).await?;
        // First alone, so that no other component's compilation is in their way.
        shared.install(shared.builtin_specs()).await;
        shared.install(specs).await;
        let mut tasks = JoinSet::new();
        tasks.spawn(watcher.run(Arc::downgrade(&shared)));
        Ok(Arc::new(Self { shared, _tasks: tasks }))
    }

    /// The port that the agent asks.
    pub fn admission(&self) -> Arc<dyn Admission> {
        Arc::new(admission::HostAdmission::new(self.shared.clone()))
    }

    /// All plugins in the order in which they are asked.
    pub fn list(&self) -> Vec<PluginStatus> {
        let now = Instant::now();
        self.shared.plugins().iter().map(|plugin| plugin.status(now)).collect()
    }

    /// Why the newest content of the `--plugins` file isn't what runs; none if it is.
    pub fn file_error(&self) -> Option<String> {
        self.shared.file_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn plugins(&self) -> Arc<[Arc<Plugin>]> {
        self.plugins.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, plugins: Vec<Arc<Plugin>>) {
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = plugins.into();
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn builtin_specs(&self) -> Vec<Spec> {
        let orders = i32::MIN..;
        self.builtins
            .iter()
            .zip(orders)
            .map(|(builtin, order)| Spec::builtin(builtin.name, order, builtin.component))
            .collect()
    }

    /// The built-ins, then the file's plugins by their order.
    fn read_specs(&self) -> Result<Vec<Spec>, FileError> {
        let mut specs = self.builtin_specs();
        if let Some(path) = &self.plugins_file {
            let text = read_text(path)?;
            let reserved: Vec<&str> = self.builtins.iter().map(|builtin| builtin.name).collect();
            let mut entries = config::parse(&text, &reserved)
                .map_err(|cause| FileError::Content { path: path.clone(), cause })?;
            entries.sort_by_key(|entry| entry.order);
            let folder = path.parent().unwrap_or(Path::new("."));
            specs.extend(entries.into_iter().map(|entry| Spec::configured(entry, folder)));
        }
        Ok(specs)
    }

    /// Makes the set be these. What didn't change stays as it is, with its health; what changed is loaded beside the
    /// old one first, and if it doesn't load the old one goes on.
    async fn install(self: &Arc<Self>, specs: Vec<Spec>) {
        let old = self.plugins();
        let mut loads = JoinSet::new();
        let mut next: Vec<Option<Arc<Plugin>>> = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let same_name = old.iter().find(|plugin| plugin.spec.name == spec.name).cloned();
            match same_name {
                Some(plugin) if plugin.spec == *spec => {
                    plugin.set_pending(None);
                    next.push(Some(plugin));
                }
                Some(_) | None => {
                    next.push(None);
                    let (shared, spec) = (self.clone(), spec.clone());
                    loads.spawn(async move { (index, shared.load(spec, same_name).await) });
                }
            }
        }
        while let Some(loaded) = loads.join_next().await {
            match loaded {
                Ok((index, plugin)) => next[index] = Some(plugin),
                Err(error) => tracing::error!(%error, "loading a plugin ended the task"),
            }
        }
        // A plugin never goes missing: one that nobody answers for would let every pod pass.
        let all = next.into_iter().zip(specs).map(|(plugin, spec)| {
            plugin.unwrap_or_else(|| Arc::new(Plugin::new(spec, Err(LoadError::Interrupted))))
        });
        self.replace(all.collect());
    }

    /// The plugin of this specification; or the old one, if the new one doesn't load and the old one works.
    async fn load(&self, spec: Spec, old: Option<Arc<Plugin>>) -> Arc<Plugin> {
        let result = self.loader.load(&spec).await;
        match result {
            Ok(loaded) => {
                tracing::info!(plugin = &*spec.name, digest = loaded.digest, "plugin loaded");
                Arc::new(Plugin::new(spec, Ok(loaded)))
            }
            Err(error) => {
                self.report_load_failure(&spec.name, &error);
                match old {
                    Some(old) if old.code.is_ok() => {
                        old.set_pending(Some(Arc::new(error)));
                        old
                    }
                    Some(_) | None => Arc::new(Plugin::new(spec, Err(error))),
                }
            }
        }
    }

    fn report_load_failure(&self, name: &str, error: &LoadError) {
        let message = error.sentence();
        tracing::error!(plugin = name, error = message, "plugin not loaded");
        self.events.record(Event {
            object: EventObject::Plugin(name.to_owned()),
            kind: EventType::Warning,
            reason: "PluginNotLoaded".to_owned(),
            message,
        });
    }
}

/// Reads at most one byte more than the parser takes.
fn read_text(path: &Path) -> Result<String, FileError> {
    use std::io::Read as _;
    let read = || {
        let mut text = String::new();
        let limit = config::FILE_BYTES_MAX as u64 + 1;
        crate::compile::open_file(path)?.take(limit).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|cause| FileError::Read { path: path.to_path_buf(), cause })
}

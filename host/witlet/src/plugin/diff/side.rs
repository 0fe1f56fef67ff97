//! One of the two versions that are compared: a component, or an entry of a plugin file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use witlet_core::admission::Verdict;
use witlet_core::node::NodeFacts;
use witlet_ports::OCI_SCHEME;
use witlet_wasm::direct::{CallReport, DirectHost, DirectOptions, DirectPlugin, filled_config};
use witlet_wasm::plugin::LoadError;
use witlet_wasm::plugin::config::{DataSource, PluginEntry};
use witlet_wasm::record::RecordedCall;
use witlet_wasm::record::replay::{GivenData, digest_of};

use super::report::SideFigures;
use crate::bounded;
use crate::cli::RegistryArgs;
use crate::plugin::component::{self, ComponentError};
use crate::plugin::replay;

/// Stands between a plugin file and the name of an entry of it.
const ENTRY: char = '#';
/// The largest data of a plugin, as the daemon reads them.
const DATA_BYTES_MAX: u64 = 16 << 20;

/// Why one of the two can't be asked.
#[derive(Debug, Error)]
pub(crate) enum SideError {
    /// The component can't be had.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The entry, or data of the command line, can't be had.
    #[error(transparent)]
    Replay(#[from] replay::Error),
    /// The file doesn't have the entry.
    #[error("{} has no plugin {name:?}: name one of its entries behind {ENTRY}", path.display())]
    NoEntry {
        path: PathBuf,
        /// As it was named.
        name: String,
    },
    /// The entry judges no pods.
    #[error("plugin {name:?} of {} is no admission handler", path.display())]
    OtherRole { path: PathBuf, name: String },
    /// What it would receive isn't here.
    #[error("plugin {name:?} of {} is granted secrets, which only a daemon has: it can't be compared", path.display())]
    Secrets { path: PathBuf, name: String },
    /// Data of the entry can't be read.
    #[error("failed to read {}", path.display())]
    Data {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// Data of the entry are elsewhere.
    #[error("{}: the data {data} of plugin {name} are fetched: give its entry a `file` with them, in a copy of the plugin file", path.display())]
    Fetched { path: PathBuf, name: String, data: String },
    /// The entry's configuration names what the recorded node doesn't have.
    #[error("{side}: its configuration can't be filled in: {problem}")]
    Config {
        /// As it was named.
        side: String,
        /// What the node doesn't have.
        problem: String,
    },
    /// The component doesn't load.
    #[error("{side}")]
    Load {
        /// As it was named.
        side: String,
        #[source]
        cause: Box<LoadError>,
    },
}

/// The files that `--data` names.
pub(super) fn data(flags: &[String]) -> Result<GivenData, SideError> {
    Ok(replay::data(flags)?)
}

/// How a version is loaded.
#[derive(Clone, Debug, PartialEq)]
struct Load {
    config: Value,
    timeout: Duration,
    memory_bytes: usize,
    /// Names of the data that it has.
    data: Vec<String>,
}

/// A version, and how it went so far.
pub(super) struct Side {
    /// As it was named.
    name: String,
    wasm: Arc<[u8]>,
    digest: String,
    /// What its entry says; a component alone is loaded as the recorded one was.
    entry: Option<PluginEntry>,
    data: GivenData,
    /// The newest; recordings of one plugin mostly have one configuration.
    loaded: Option<(Load, DirectPlugin)>,
    times: Vec<Duration>,
    cpu: Duration,
    errors: usize,
    memory_bytes_peak: usize,
}

impl Side {
    /// Reads `FILE`, `builtin:NAME`, `oci://…`, or `PLUGINS#ENTRY`. `data` are for a component alone; an entry names its own.
    pub(super) async fn read(
        name: &str,
        data: &GivenData,
        registry: &RegistryArgs,
    ) -> Result<Self, SideError> {
        match entry_of(name) {
            None => {
                let wasm = component::read(name, registry).await?.wasm;
                Ok(Self::new(name, wasm, None, data.clone()))
            }
            Some((file, entry)) => {
                let entry = replay::entry(entry, file).map_err(|error| match error {
                    replay::Error::NoEntry { path, name } => SideError::NoEntry { path, name },
                    other => SideError::Replay(other),
                })?;
                check(&entry, file)?;
                let data = entry_data(&entry, file)?;
                let named = replay::named(entry.component.clone(), file);
                let wasm = named.read(registry).await?;
                Ok(Self::new(name, wasm, Some(entry), data))
            }
        }
    }

    fn new(name: &str, wasm: Arc<[u8]>, entry: Option<PluginEntry>, data: GivenData) -> Self {
        Self {
            name: name.to_owned(),
            digest: digest_of(&wasm),
            wasm,
            entry,
            data,
            loaded: None,
            times: Vec::new(),
            cpu: Duration::ZERO,
            errors: 0,
            memory_bytes_peak: 0,
        }
    }

    /// Returns what this call needs and isn't given; none if it can be asked.
    pub(super) fn lacks(&self, call: &RecordedCall) -> Option<String> {
        if self.entry.is_some() {
            return None;
        }
        let missing = call.data.keys().find(|name| !self.data.contains_key(*name))?;
        Some(format!("it had the data {missing:?}: name a file with them by --data {missing}=FILE"))
    }

    /// The plugin as its entry says, or as the recorded one was.
    pub(super) async fn loaded(
        &mut self,
        host: &DirectHost,
        call: &RecordedCall,
        node: &NodeFacts,
    ) -> Result<DirectPlugin, SideError> {
        let load = self.load(call, node)?;
        if let Some((known, plugin)) = &self.loaded
            && *known == load
        {
            return Ok(plugin.clone());
        }
        let named = |(name, _): &(&String, &Vec<u8>)| load.data.contains(*name);
        let data: BTreeMap<String, Vec<u8>> =
            self.data.iter().filter(named).map(|(name, bytes)| (name.clone(), bytes.clone())).collect();
        let options = DirectOptions {
            config: load.config.clone(),
            timeout: load.timeout,
            memory_bytes: load.memory_bytes,
            data,
            ..DirectOptions::default()
        };
        let plugin = host
            .admission(self.wasm.clone(), options)
            .await
            .map_err(|cause| SideError::Load { side: self.name.clone(), cause: Box::new(cause) })?;
        self.loaded = Some((load, plugin.clone()));
        Ok(plugin)
    }

    fn load(&self, call: &RecordedCall, node: &NodeFacts) -> Result<Load, SideError> {
        let role = self.entry.as_ref().and_then(|entry| Some((entry, entry.admission.as_ref()?)));
        let Some((entry, role)) = role else {
            return Ok(Load {
                config: call.config.clone(),
                timeout: Duration::from_millis(call.limits.timeout_milliseconds),
                memory_bytes: call.limits.memory_bytes,
                data: call.data.keys().cloned().collect(),
            });
        };
        let config = filled_config(&entry.config, node)
            .map_err(|problem| SideError::Config { side: self.name.clone(), problem })?;
        let data = self.data.keys().cloned().collect();
        Ok(Load { config, timeout: role.timeout, memory_bytes: role.memory_bytes, data })
    }

    /// Notes how a call went.
    pub(super) fn note(&mut self, took: Duration, report: &CallReport<Verdict>) {
        self.times.push(took);
        self.cpu += report.cpu.unwrap_or_default();
        self.errors += usize::from(report.result.is_err());
        self.memory_bytes_peak = self.memory_bytes_peak.max(report.memory_bytes_peak);
    }

    /// Returns what all of its calls took.
    pub(super) fn figures(self) -> SideFigures {
        let Self { name, digest, times, cpu, errors, memory_bytes_peak, .. } = self;
        SideFigures::new((name, digest), times, cpu, errors, memory_bytes_peak)
    }
}

/// A plugin file and the name of an entry of it; none if this names a component.
fn entry_of(name: &str) -> Option<(&Path, &str)> {
    if name.starts_with("builtin:") || name.starts_with(OCI_SCHEME) || Path::new(name).is_file() {
        return None;
    }
    let (file, entry) = name.rsplit_once(ENTRY)?;
    Some((Path::new(file), entry))
}

/// Refuses an entry that nothing can be asked.
fn check(entry: &PluginEntry, file: &Path) -> Result<(), SideError> {
    let (path, name) = (file.to_owned(), entry.name.clone());
    if entry.admission.is_none() {
        return Err(SideError::OtherRole { path, name });
    }
    if !entry.grants.secrets.is_empty() {
        return Err(SideError::Secrets { path, name });
    }
    Ok(())
}

/// The data that the entry names, from their files.
fn entry_data(entry: &PluginEntry, file: &Path) -> Result<GivenData, SideError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let one = |data: &witlet_wasm::plugin::config::DataEntry| {
        let DataSource::File(path) = &data.source else {
            let (path, name) = (file.to_owned(), entry.name.clone());
            return Err(SideError::Fetched { path, name, data: data.name.clone() });
        };
        let path = folder.join(path);
        let bytes = bounded::read(&path, DATA_BYTES_MAX).map_err(|cause| SideError::Data { path, cause })?;
        Ok((data.name.clone(), bytes))
    };
    entry.data.iter().map(one).collect()
}

//! Loads a plugin file for a trial, next to what runs: all of it must load before any of it serves.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use witlet_agent::EventLog;
use witlet_core::error::one_line;
use witlet_node::SystemClock;
use witlet_oci::Registries;
use witlet_ports::{NodeWatch, Tracer};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig};
use witlet_wasm::plugin::Builtin;
use witlet_wasm::plugin::config::{PluginConfiguration, SetFileKind, Shipped, files_of_set, parse};

use crate::bounded;
use crate::run::plugins;

/// How long a trial may take: pulls and compilations of a whole plugin file.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(1800);
/// How much of a plugin file is read; the parser takes less.
const FILE_BYTES_MAX: u64 = 2 << 20;
/// How many problems are named.
const PROBLEMS_MAX: usize = 4;

/// What a trial is made with: what the node's own plugins have.
pub(crate) struct Trial {
    pub(crate) compiler: CompilerConfig,
    pub(crate) unsafe_sysctls: Vec<String>,
    pub(crate) registries: Arc<Registries>,
    pub(crate) node: Arc<dyn NodeWatch>,
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) in_cluster: bool,
}

impl Trial {
    /// Why a plugin file can't serve at all, if it can't. What it names isn't checked.
    pub(crate) fn problem_of(&self, file: &Path) -> Option<String> {
        read(file, &plugins::builtins(&self.unsafe_sysctls)).err()
    }

    /// Loads the plugin file of a set, and everything that it names. What is wrong, in one sentence.
    pub(crate) async fn load(&self, file: &Path) -> Result<(), String> {
        check_files(file, &plugins::builtins(&self.unsafe_sysctls))?;
        let scratch =
            tempfile::tempdir().map_err(|error| format!("failed to create a temporary folder: {error}"))?;
        let started = PluginHost::start(PluginHostConfig {
            tracer: Tracer::off(),
            compiler: self.compiler.clone(),
            plugins_file: Some(file.to_owned()),
            builtins: plugins::builtins(&self.unsafe_sysctls),
            shipped: plugins::shipped(),
            fetcher: Some(self.registries.clone()),
            containers: None,
            state_folder: Some(scratch.path().join("state")),
            last_good_folder: None,
            data: DataConfig { artifacts: Some(self.registries.clone()), ..DataConfig::default() },
            decision_log_folder: None,
            in_cluster: self.in_cluster,
            node: Some(self.node.clone()),
            recorder: None,
            // No one wants to know of a trial's events: what they say is in the outcome.
            events: Arc::new(EventLog::new(self.clock.clone())),
            clock: self.clock.clone(),
        });
        let tried = tokio::time::timeout(TRIAL_TIME_MAX, async {
            let host = started.await.map_err(|error| one_line(&error))?;
            host.ready().await;
            Ok::<_, String>(host.problems())
        });
        let late = || Err(format!("it wasn't loaded within {}s", TRIAL_TIME_MAX.as_secs()));
        let problems: Vec<String> = tried.await.unwrap_or_else(|_elapsed| late())?;
        match problems.as_slice() {
            [] => Ok(()),
            some => Err(some.iter().take(PROBLEMS_MAX).cloned().collect::<Vec<_>>().join("; ")),
        }
    }
}

/// The plugin file's content.
fn read(file: &Path, builtins: &[Builtin]) -> Result<PluginConfiguration, String> {
    let text =
        bounded::read_text(file, FILE_BYTES_MAX).map_err(|error| format!("it can't be read: {error}"))?;
    plugins::with_names(builtins, |shipped: Shipped<'_>| parse(&text, shipped))
        .map_err(|error| error.to_string())
}

/// Whether the plugin file is one that a set may have, and what it names is there.
fn check_files(file: &Path, builtins: &[Builtin]) -> Result<(), String> {
    let configuration = read(file, builtins).map_err(|problem| format!("its plugin file: {problem}"))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let files = files_of_set(&configuration).map_err(|error| error.to_string())?;
    let missing =
        files.iter().find(|named| named.kind != SetFileKind::Report && !folder.join(&named.name).is_file());
    match missing {
        Some(missing) => Err(format!("file {:?} of its plugin file not found in the set", missing.name)),
        None => Ok(()),
    }
}

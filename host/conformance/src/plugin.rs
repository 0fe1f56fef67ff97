//! A loaded plugin in any role: how it is asked, and the one place that asks again where the machine was the reason.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use witlet_wasm::direct::{
    self, CallReport, CapturedLine, DirectHost, DirectOptions, DirectPlugin, DirectWaiting, LogTap,
};
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::environment::commands::Commands;
use crate::environment::folders::Folders;
use crate::environment::tls::with_authority;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{CallResult, PluginResponse, ResponseKind, answered};
use crate::setup::Setup;

/// How often a call is made for which the host had no thread or processor in time, by the processor time that it measures. Such an answer
/// is no finding, and a fault that a single input shows would go unfound on a busy machine.
const TURNS_MAX: usize = 10;
/// What a handler has to which the machine gave too little of its time. It is judged by what it computes then, not by how long it took.
const UNHURRIED: Duration = Duration::from_secs(2);

/// A loaded plugin, with folders of its own.
pub(crate) struct Plugin {
    host: Arc<DirectHost>,
    wasm: Arc<[u8]>,
    options: DirectOptions,
    instances: Instances,
    /// The same handler with more time, once it was needed.
    unhurried: OnceCell<DirectPlugin>,
    log: LogTap,
    commands: Arc<Commands>,
    /// What a source finds on the machine.
    pub(crate) folders: Folders,
}

enum Instances {
    Synchronous(DirectPlugin),
    Asynchronous(DirectWaiting),
}

impl Plugin {
    /// Compiles (or takes it from the cache), links and validates.
    pub(crate) async fn load(
        host: &Arc<DirectHost>,
        wasm: &Arc<[u8]>,
        setup: &Setup,
    ) -> Result<Self, LoadError> {
        let made = Folders::new(setup.guest_paths.iter().cloned(), setup.made);
        let folders =
            made.map_err(|cause| LoadError::Folder { path: PathBuf::from("a temporary one"), cause })?;
        Self::load_over(host, wasm, setup, folders).await
    }

    /// The same over folders that are there: a restart, or another setup.
    pub(crate) async fn load_over(
        host: &Arc<DirectHost>,
        wasm: &Arc<[u8]>,
        setup: &Setup,
        folders: Folders,
    ) -> Result<Self, LoadError> {
        let (log, commands) = (LogTap::default(), Arc::new(Commands::new(setup.execs.clone())));
        let options = options(setup, &folders, &log, &commands);
        let load = async || match setup.role {
            Role::Admission => {
                host.admission(wasm.clone(), options.clone()).await.map(Instances::Synchronous)
            }
            Role::Probe | Role::PodSource => {
                host.waiting(setup.role, wasm.clone(), options.clone()).await.map(Instances::Asynchronous)
            }
        };
        let instances = until_its_turn(load, found_busy).await?;
        // What `validate` said is no answer's.
        drop(log.take());
        let (host, wasm, unhurried) = (host.clone(), wasm.clone(), OnceCell::new());
        Ok(Self { host, wasm, options, instances, unhurried, log, commands, folders })
    }

    /// Asks, on the plugins' threads. A late answer is the plugin's, unless the machine had no turn for the call, or gave a handler, which
    /// waits for nothing, less than nearly all of the time in which it has to answer.
    pub(crate) async fn ask(&self, question: &PluginRequest) -> CallReport<PluginResponse> {
        let no_turn = |asked: &CallReport<PluginResponse>| {
            matches!(asked.result, Err(CallError::Busy | CallError::Host))
        };
        let asked = until_its_turn(async || self.ask_once(question).await, no_turn).await;
        match (question, &asked.result) {
            (PluginRequest::Admit(_, question), Err(CallError::Timeout { limit }))
                if asked.cpu.is_some_and(|cpu| cpu < *limit * 19 / 20) =>
            {
                self.ask_unhurried(question, *limit).await.unwrap_or(asked)
            }
            (..) => asked,
        }
    }

    /// Asks a handler that has more time, and judges it by what it computes. None if it can't be loaded so.
    async fn ask_unhurried(
        &self,
        question: &direct::PreparedRequest,
        limit: Duration,
    ) -> Option<CallReport<PluginResponse>> {
        let options = DirectOptions { timeout: UNHURRIED.max(limit), ..self.options.clone() };
        let load = async || self.host.admission(self.wasm.clone(), options.clone()).await;
        let plugin = self.unhurried.get_or_try_init(|| until_its_turn(load, found_busy)).await.ok()?;
        let mut asked = plain(plugin.admit(question).await);
        if is_late(&asked, limit) {
            asked.result = Err(CallError::Timeout { limit });
        }
        Some(asked)
    }

    async fn ask_once(&self, question: &PluginRequest) -> CallReport<PluginResponse> {
        match (&self.instances, question) {
            (Instances::Synchronous(plugin), PluginRequest::Admit(_, question)) => {
                plain(plugin.admit(question).await)
            }
            (Instances::Asynchronous(plugin), PluginRequest::Probe { request, .. }) => {
                let checked = checked(plugin.check_parameters(&request.parameters).await);
                match &checked.result {
                    Ok(PluginResponse { kind: ResponseKind::Done, .. }) => plain(plugin.probe(request).await),
                    Ok(_) | Err(_) => checked,
                }
            }
            (Instances::Asynchronous(plugin), PluginRequest::Check(parameters)) => {
                checked(plugin.check_parameters(parameters).await)
            }
            (Instances::Asynchronous(plugin), PluginRequest::Poll(cursor)) => {
                plain(plugin.poll(cursor.as_deref()).await)
            }
            (Instances::Asynchronous(plugin), PluginRequest::Statuses(changed)) => {
                plain(plugin.notify(changed.as_slice().into()).await)
            }
            // A scenario's question is of the role that its setup has.
            (Instances::Synchronous(_), _) | (Instances::Asynchronous(_), PluginRequest::Admit(..)) => {
                CallReport::unmeasured(Err(CallError::Host))
            }
        }
    }

    /// Asks once, without a question about parameters before a probe; a handler on this thread, which it blocks. For measurements.
    pub(crate) async fn ask_here(&self, question: &PluginRequest) -> CallReport<PluginResponse> {
        match (&self.instances, question) {
            (Instances::Synchronous(plugin), PluginRequest::Admit(_, question)) => {
                plain(plugin.ask(question))
            }
            (Instances::Asynchronous(plugin), PluginRequest::Probe { request, .. }) => {
                plain(plugin.probe(request).await)
            }
            (_, question) => self.ask_once(question).await,
        }
    }

    /// Returns what it has logged since this was last asked.
    pub(crate) fn lines(&self) -> Vec<CapturedLine> {
        self.log.take()
    }

    /// The commands that it has run since this was last asked.
    pub(crate) fn commands(&self) -> Vec<Vec<String>> {
        self.commands.take()
    }
}

/// Returns what a load came to as an answer: nothing against the configuration, an error in the plugin's own words, or why it has none. The
/// error says why it couldn't be asked.
pub(crate) fn validated<T>(loaded: Result<T, LoadError>) -> Result<CallResult, LoadError> {
    match loaded {
        Ok(_) => Ok(answered(Ok(()))),
        Err(LoadError::Configuration { words }) => Ok(Ok(PluginResponse::new(ResponseKind::Error, words))),
        Err(LoadError::Validate(error)) => Ok(answered::<()>(Err(error))),
        Err(other) => Err(other),
    }
}

fn plain<T: Into<PluginResponse>>(asked: CallReport<T>) -> CallReport<PluginResponse> {
    let CallReport { result, memory_bytes_peak, cpu, runnable } = asked;
    CallReport { result: answered(result), memory_bytes_peak, cpu, runnable }
}

fn checked(asked: CallReport<()>) -> CallReport<PluginResponse> {
    let mut asked = plain(asked);
    if let Ok(answer) = &mut asked.result
        && answer.kind == ResponseKind::Error
    {
        answer.kind = ResponseKind::ParametersRefused;
    }
    asked
}

/// Whether a load had no turn on the machine.
fn found_busy<T>(loaded: &Result<T, LoadError>) -> bool {
    matches!(loaded, Err(LoadError::Validate(CallError::Busy | CallError::Host)))
}

/// Does something again where it says nothing about the plugin.
async fn until_its_turn<T>(again: impl AsyncFn() -> T, is_the_machines: impl Fn(&T) -> bool) -> T {
    let mut got = again().await;
    for _ in 1..TURNS_MAX {
        if !is_the_machines(&got) {
            break;
        }
        got = again().await;
    }
    got
}

/// Whether a handler with more time shows that its own time isn't enough.
fn is_late<T>(asked: &CallReport<T>, limit: Duration) -> bool {
    matches!(asked.result, Err(CallError::Timeout { .. })) || asked.cpu.is_some_and(|cpu| cpu > limit)
}

fn options(setup: &Setup, folders: &Folders, log: &LogTap, commands: &Arc<Commands>) -> DirectOptions {
    // What can't be taken was refused when the setup was made; a later change that can't grants nothing.
    let mut grants: Grants = setup.grants().unwrap_or_default();
    grants.files.extend(folders.grants());
    let secrets = setup.secrets.iter().map(|(name, value)| (name.clone(), with_authority(value).into()));
    DirectOptions {
        config: setup.placed_config(),
        warm: setup.warm,
        timeout: setup.timeout,
        memory_bytes: setup.memory_bytes,
        grants,
        secrets: secrets.collect(),
        containers: Some(commands.clone()),
        state_folder: (setup.role == Role::PodSource).then(|| folders.state()),
        log: Some(log.clone()),
        data: setup.data.clone(),
        clock_ahead: setup.clock_ahead,
        random_salt: setup.random_salt.clone(),
    }
}

#[cfg(test)]
mod tests;

//! A loaded plugin, by its role.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_core::config::source::{PodStatusChange, PollAnswer, SourceFault};
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_wasm::direct::{Asked, DirectOptions, DirectPlugin, DirectWaiting, HeardLine, LogTap, Question};
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::plugin::{CallError, LoadError};

use super::{Ctx, Setup};
use crate::scene::{Commands, Folders};

/// What a plugin in any role is loaded with.
fn options(
    setup: &Setup,
    folders: Option<&Folders>,
    log: &LogTap,
    commands: &Arc<Commands>,
) -> DirectOptions {
    // What can't be taken was refused when the setup was made; whoever changed it since grants nothing by it.
    let mut grants: Grants = setup.grants().unwrap_or_default();
    grants.files.extend(folders.map(Folders::grants).unwrap_or_default());
    DirectOptions {
        config: setup.placed_config(),
        warm: setup.warm,
        timeout: setup.timeout,
        memory_bytes: setup.memory_bytes,
        grants,
        secrets: setup.secret_values(),
        containers: Some(commands.clone()),
        state_folder: folders.map(Folders::state),
        log: Some(log.clone()),
        clock_ahead: setup.clock_ahead,
        random_salt: setup.random_salt.clone(),
    }
}

/// An admission handler.
#[derive(Clone)]
pub struct Handler {
    plugin: DirectPlugin,
    log: LogTap,
}

impl Handler {
    pub(super) async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, LoadError> {
        let (log, commands) = (LogTap::default(), Arc::default());
        let options = options(setup, None, &log, &commands);
        let plugin = ctx.kit.host.admission(ctx.subject.wasm.clone(), options).await?;
        Ok(Self { plugin, log })
    }

    /// Asks about a pod.
    pub async fn ask(&self, request: &AdmissionRequest) -> Asked<Verdict> {
        self.ask_again(&Question::new(request.clone())).await
    }

    /// Asks a question that costs nothing to ask again.
    pub async fn ask_again(&self, question: &Question) -> Asked<Verdict> {
        self.plugin.admit(question).await
    }

    /// Asks on this thread, which it blocks: where calls are measured.
    pub fn ask_here(&self, question: &Question) -> Asked<Verdict> {
        self.plugin.ask(question)
    }

    /// Has it validate its configuration once more, in a fresh instance.
    ///
    /// # Errors
    ///
    /// What it has against it: [`CallError::Refused`], or why it can't tell.
    pub async fn validate(&self) -> Result<(), CallError> {
        self.plugin.validate().await
    }

    /// What it has logged since this was last asked.
    pub fn lines(&self) -> Vec<HeardLine> {
        self.log.take()
    }
}

/// A probe type.
#[derive(Clone)]
pub struct Prober {
    plugin: DirectWaiting,
    log: LogTap,
    commands: Arc<Commands>,
}

impl Prober {
    pub(super) async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, LoadError> {
        let (log, commands) = (LogTap::default(), Arc::new(Commands::new(setup.execs.clone())));
        let options = options(setup, None, &log, &commands);
        let plugin = ctx.kit.host.waiting(setup.role, ctx.subject.wasm.clone(), options).await?;
        Ok(Self { plugin, log, commands })
    }

    /// Probes, whatever it has said about the parameters.
    pub async fn probe(&self, request: &ProbeRequest) -> Asked<ProbeOutcome> {
        self.plugin.probe(request).await
    }

    /// Asks about the request's parameters, and probes if it has nothing against them, as the daemon does.
    pub async fn check_and_probe(&self, request: &ProbeRequest) -> Asked<ProbeOutcome> {
        let mut checked = self.plugin.check_parameters(&request.parameters).await;
        match std::mem::replace(&mut checked.result, Ok(())) {
            Ok(()) => self.plugin.probe(request).await,
            Err(error) => checked.with_result(Err(error)),
        }
    }

    /// Asks whether a probe with these parameters makes sense. A refusal is [`CallError::Refused`].
    pub async fn check(&self, parameters: &Value) -> Asked<()> {
        self.plugin.check_parameters(&parameters.to_string().into()).await
    }

    /// As [`Handler::validate`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn validate(&self) -> Result<(), CallError> {
        self.plugin.validate().await
    }

    /// What it has logged since this was last asked.
    pub fn lines(&self) -> Vec<HeardLine> {
        self.log.take()
    }

    /// The commands that it has run since this was last asked.
    pub fn commands(&self) -> Vec<Vec<String>> {
        self.commands.take()
    }
}

/// A pod source, with folders of its own.
pub struct Source {
    plugin: DirectWaiting,
    log: LogTap,
    /// What it finds on the machine.
    pub folders: Folders,
}

impl Source {
    pub(super) async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, LoadError> {
        let made = Folders::new(setup.guest_paths.iter().cloned());
        let folders =
            made.map_err(|cause| LoadError::Folder { path: PathBuf::from("a temporary one"), cause })?;
        Self::load_with(ctx, setup, folders).await
    }

    /// The same source loaded anew over the same folders: a restart, or another setup.
    ///
    /// # Errors
    ///
    /// As [`Ctx::source`].
    pub async fn reload(self, ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, LoadError> {
        Self::load_with(ctx, setup, self.folders).await
    }

    async fn load_with(ctx: &Ctx<'_>, setup: &Setup, folders: Folders) -> Result<Self, LoadError> {
        let (log, commands) = (LogTap::default(), Arc::default());
        let options = options(setup, Some(&folders), &log, &commands);
        let plugin = ctx.kit.host.waiting(setup.role, ctx.subject.wasm.clone(), options).await?;
        Ok(Self { plugin, log, folders })
    }

    /// Asks what it has.
    pub async fn poll(&self, cursor: Option<&str>) -> Asked<Result<PollAnswer, SourceFault>> {
        self.plugin.poll(cursor).await
    }

    /// Whether it wants to know how its pods fare.
    pub fn has_feedback(&self) -> bool {
        self.plugin.has_feedback()
    }

    /// Tells it how its pods fare.
    pub async fn statuses(&self, changed: Vec<PodStatusChange>) -> Asked<()> {
        self.plugin.statuses(changed.into()).await
    }

    /// As [`Handler::validate`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn validate(&self) -> Result<(), CallError> {
        self.plugin.validate().await
    }

    /// What it has logged since this was last asked.
    pub fn lines(&self) -> Vec<HeardLine> {
        self.log.take()
    }
}

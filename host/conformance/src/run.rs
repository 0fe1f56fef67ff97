//! Carries cases out: a plugin loaded as the case says, its scene around it, and what came of each call.

pub mod matching;
mod told;

pub use told::{lines_told, outcome_told, poll_told, verdict_told};

use std::io;

use thiserror::Error;
use witlet_core::admission::Verdict;
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_wasm::direct::{Asked, HeardLine};
use witlet_wasm::plugin::{CallError, LoadError};

use crate::cases::{AdmissionCase, ProbeCase, SourceCase, SourceStep};
use crate::patience::patiently;
use crate::scene::{Content, ServerScript, Servers, placed};
use crate::{Ctx, Setup, Source};

/// In place of a guest's path in a case's folders: every folder that the plugin has.
pub const EVERY_FOLDER: &str = "*";

/// Why nothing could be asked.
#[derive(Debug, Error)]
pub enum RunError {
    /// The plugin can't be loaded, or refuses its configuration.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its scene can't be set: a port that can't be listened on, a folder that can't be written.
    #[error("the scene can't be set")]
    Scene(#[source] io::Error),
}

/// What came of a question about a pod.
#[derive(Debug)]
pub struct Admitted {
    /// The verdict, or why there is none.
    pub asked: Asked<Verdict>,
    /// What was logged.
    pub lines: Vec<HeardLine>,
}

/// Asks a case's question of a plugin that is loaded for it.
///
/// # Errors
///
/// When it can't be loaded.
pub async fn admission(ctx: &Ctx<'_>, setup: &Setup, case: &AdmissionCase) -> Result<Admitted, RunError> {
    let carry_out = async || {
        let handler = ctx.handler(setup).await?;
        // What `validate` said isn't the answer's.
        drop(handler.lines());
        let asked = handler.ask(&case.request).await;
        Ok(Admitted { asked, lines: handler.lines() })
    };
    patiently(carry_out, |admitted| admitted.as_ref().ok()?.asked.result.as_ref().err()).await
}

/// What came of a probe.
#[derive(Debug)]
pub struct Probed {
    /// The outcome, or why there is none.
    pub asked: Asked<ProbeOutcome>,
    /// Whether it was the parameters that the plugin refused.
    pub refused_parameters: bool,
    /// What was logged.
    pub lines: Vec<HeardLine>,
    /// Commands that it ran.
    pub commands: Vec<Vec<String>>,
    /// What servers heard: ports and bytes.
    pub heard: Vec<(u16, Vec<u8>)>,
}

/// Sets a case's scene, asks about its parameters and probes, in a plugin that is loaded for it.
///
/// # Errors
///
/// When it can't be loaded, or when the scene can't be set.
pub async fn probe(ctx: &Ctx<'_>, setup: &Setup, case: &ProbeCase) -> Result<Probed, RunError> {
    let carry_out = async || probe_once(ctx, setup, case).await;
    patiently(carry_out, |probed| probed.as_ref().ok()?.asked.result.as_ref().err()).await
}

async fn probe_once(ctx: &Ctx<'_>, setup: &Setup, case: &ProbeCase) -> Result<Probed, RunError> {
    let servers = Servers::start(&case.servers).await.map_err(RunError::Scene)?;
    let setup = Setup { execs: case.execs.clone(), ..setup.at(servers.address) };
    let prober = ctx.prober(&setup).await?;
    drop(prober.lines());
    let request = question(case, &servers);
    let mut checked = prober.check(&placed(&case.parameters, servers.address)).await;
    let (asked, refused_parameters) = match std::mem::replace(&mut checked.result, Ok(())) {
        Ok(()) => (prober.probe(&request).await, false),
        Err(error) => (checked.with_result(Err(error)), true),
    };
    let (lines, commands) = (prober.lines(), prober.commands());
    Ok(Probed { asked, refused_parameters, lines, commands, heard: servers.heard() })
}

/// A case's question, where its servers listen.
pub fn question(case: &ProbeCase, servers: &Servers) -> ProbeRequest {
    ProbeRequest {
        parameters: placed(&case.parameters, servers.address).to_string().into(),
        pod_ips: case.pod_ips.clone().unwrap_or_else(|| vec![servers.address]),
        ..case.request.clone()
    }
}

/// What came of one call of a source.
#[derive(Debug)]
pub struct Stepped {
    /// What it has, or that it was told; or why there is no answer.
    pub answer: StepAnswer,
    /// What was logged.
    pub lines: Vec<HeardLine>,
}

/// What came of a poll, or of telling how pods fare.
#[derive(Debug)]
pub enum StepAnswer {
    /// A poll's.
    Polled(Asked<Result<PollAnswer, SourceFault>>),
    /// Of telling.
    Told(Asked<()>),
}

impl StepAnswer {
    /// Why there is no answer.
    fn error(&self) -> Option<&CallError> {
        match self {
            Self::Polled(asked) => asked.result.as_ref().err(),
            Self::Told(asked) => asked.result.as_ref().err(),
        }
    }
}

/// A source in the middle of a case.
pub struct Polling {
    /// The plugin.
    pub source: Source,
    /// Who listens.
    pub servers: Servers,
    /// What the last successful poll gave.
    pub cursor: Option<String>,
    /// Whether any poll has given pods or `empty`.
    pub spoken: bool,
}

impl Polling {
    /// Sets a case's scene and loads the plugin for it.
    ///
    /// # Errors
    ///
    /// When it can't be loaded, or when the scene can't be set.
    pub async fn begin(ctx: &Ctx<'_>, setup: &Setup, servers: &[ServerScript]) -> Result<Self, RunError> {
        let servers = Servers::start(servers).await.map_err(RunError::Scene)?;
        let source = ctx.source(&setup.at(servers.address)).await?;
        drop(source.lines());
        Ok(Self { source, servers, cursor: None, spoken: false })
    }

    /// Changes what the plugin finds as a step says.
    ///
    /// # Errors
    ///
    /// When that can't be done.
    pub async fn set(&mut self, step: &SourceStep) -> Result<(), RunError> {
        if let Some(servers) = &step.servers {
            self.servers.replace(servers).await.map_err(RunError::Scene)?;
        }
        for (guest_path, content) in &step.folders {
            self.fill(guest_path, content.as_ref()).map_err(RunError::Scene)?;
        }
        Ok(())
    }

    fn fill(
        &self,
        guest_path: &str,
        content: Option<&std::collections::BTreeMap<String, Content>>,
    ) -> io::Result<()> {
        let folders = &self.source.folders;
        let paths: Vec<&str> = match guest_path {
            EVERY_FOLDER => folders.guest_paths().collect(),
            path => vec![path],
        };
        paths.into_iter().try_for_each(|path| match content {
            Some(content) => folders.fill(path, content),
            None => folders.remove(path),
        })
    }

    /// Takes a step.
    ///
    /// # Errors
    ///
    /// When what the plugin is to find can't be set.
    pub async fn step(&mut self, step: &SourceStep) -> Result<Stepped, RunError> {
        self.set(step).await?;
        let answer = match &step.statuses {
            Some(statuses) => StepAnswer::Told(self.source.statuses(statuses.clone()).await),
            None => {
                if step.cursor.is_some() {
                    self.cursor.clone_from(&step.cursor);
                }
                StepAnswer::Polled(self.poll().await)
            }
        };
        Ok(Stepped { answer, lines: self.source.lines() })
    }

    /// Asks what it has, with the cursor of the last successful poll, and keeps the new one as the daemon does.
    pub async fn poll(&mut self) -> Asked<Result<PollAnswer, SourceFault>> {
        let asked = self.source.poll(self.cursor.as_deref()).await;
        if let Ok(Ok(answer)) = &asked.result {
            self.cursor.clone_from(&answer.cursor);
            self.spoken |= answer.snapshot != Snapshot::Unchanged;
        }
        asked
    }
}

/// Carries all steps of a case out, one after the other.
///
/// # Errors
///
/// When the plugin can't be loaded, or when a scene can't be set.
pub async fn source(ctx: &Ctx<'_>, setup: &Setup, case: &SourceCase) -> Result<Vec<Stepped>, RunError> {
    let carry_out = async || source_once(ctx, setup, case).await;
    patiently(carry_out, |stepped| stepped.as_ref().ok()?.iter().find_map(|step| step.answer.error())).await
}

async fn source_once(ctx: &Ctx<'_>, setup: &Setup, case: &SourceCase) -> Result<Vec<Stepped>, RunError> {
    let mut polling = Polling::begin(ctx, setup, &case.servers).await?;
    let mut stepped = Vec::with_capacity(case.steps.len());
    for step in &case.steps {
        stepped.push(polling.step(step).await?);
    }
    Ok(stepped)
}

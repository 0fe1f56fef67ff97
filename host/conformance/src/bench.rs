//! A plugin that is asked the same thing again and again, for benchmarks: a case's question in the case's surroundings.

use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;
use witlet_core::sources::plugin::SourceFault;
use witlet_wasm::inspect::{InspectError, inspect};
use witlet_wasm::plugin::CallError;
use witlet_wasm::plugin::config::Warm;
use witlet_wasm::role::Role;

use crate::ctx::Ctx;
use crate::kit::Kit;
use crate::plan::{Plan, Subject};
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{PluginResponse, ResponseKind};
use crate::scenario::{Scenario, Stage, StageError, plain};

/// How long an answer may take at least, whatever the limits say: a busy machine mustn't end a benchmark.
const TIMEOUT_MIN: Duration = Duration::from_secs(10);
/// What is asked where no case says anything.
const NO_CASE: &str = "no case: a plain question without configuration";

/// Why nothing can be asked.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// It is no component.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// No case of the role has this name, or none asks anything.
    #[error("{}", match name { Some(name) => format!("no case of the role {role} is called {name:?}"), None => format!("no case of the role {role} asks the plugin anything") })]
    NoCase {
        role: Role,
        /// The name that was asked for.
        name: Option<String>,
    },
    /// Limits or grants of the case can't be taken.
    #[error("{0}")]
    Setup(String),
    /// Servers or folders of the case can't be had, or the plugin can't be loaded.
    #[error("failed to load the plugin for the case {case:?}")]
    Stage {
        case: String,
        #[source]
        cause: Box<StageError>,
    },
}

/// The plugin didn't answer, or with an error.
#[derive(Debug, Error)]
pub enum AskError {
    /// There is no usable answer.
    #[error("the plugin has no answer")]
    Call(#[source] CallError),
    /// A source says that it can't tell.
    #[error("the source answers with the error {}: {}", .0.reason, .0.message)]
    Fault(SourceFault),
}

/// A loaded plugin in a case's surroundings, which end with it.
pub struct Rehearsal {
    pub case: String,
    /// How long loading took: compiling or taking compiled code from the cache, linking, validating.
    pub loaded_in: Duration,
    stage: Stage,
}

impl Rehearsal {
    /// Asks once. How many bytes of linear memory the instance had then.
    ///
    /// # Errors
    ///
    /// When the plugin has no answer, or answers with an error. Any verdict and any outcome is an answer.
    pub async fn ask(&self) -> Result<usize, AskError> {
        let asked = self.stage.plugin.ask_here(&self.stage.question).await;
        let PluginResponse { kind, reason, text, .. } = asked.result.map_err(AskError::Call)?;
        match kind {
            ResponseKind::SourceError => {
                Err(AskError::Fault(SourceFault { reason, message: text, retry_after: None }))
            }
            ResponseKind::Error | ResponseKind::ParametersRefused => {
                Err(AskError::Call(CallError::Refused { words: text }))
            }
            _ => Ok(asked.memory_bytes_peak),
        }
    }
}

impl Kit {
    /// Loads a component for one case of the plan: the one of this name, or the first of the role that asks something and
    /// expects an answer. A plan without cases of the role has it asked a plain question. `warm` says whether instances are kept.
    ///
    /// # Errors
    ///
    /// When there is no such case, or the component can't be loaded for it.
    pub async fn rehearse(
        &self,
        subject: &Subject,
        plan: &Plan,
        role: Role,
        case: Option<&str>,
        warm: Option<Warm>,
    ) -> Result<Rehearsal, RehearsalError> {
        let ctx = Ctx { engines: &self.0, subject, plan, inspection: inspect(&subject.wasm)? };
        let mut scenario = scenario(&ctx, role, case)?;
        if !plan.limits.is_null() {
            let setup = ctx.setup(role).map_err(RehearsalError::Setup)?;
            scenario.setup.memory_bytes = setup.memory_bytes;
        }
        scenario.setup.timeout = scenario.setup.timeout.max(TIMEOUT_MIN);
        scenario.setup.warm = warm;
        if let PluginRequest::Probe { request, .. } = &mut scenario.question {
            request.timeout = request.timeout.max(TIMEOUT_MIN);
        }
        let started = Instant::now();
        let case = scenario.name.clone();
        match scenario.stage(&ctx).await {
            Ok(stage) => Ok(Rehearsal { case, loaded_in: started.elapsed(), stage }),
            Err(cause) => Err(RehearsalError::Stage { case, cause: Box::new(cause) }),
        }
    }
}

/// The case of this name, or the first one that expects an answer; of a source after the steps up to the first that brings pods.
fn scenario(ctx: &Ctx<'_>, role: Role, name: Option<&str>) -> Result<Scenario, RehearsalError> {
    let error = ResponseKind::Error;
    for (file, case) in ctx.cases(role) {
        let answers = || case.steps.first().is_some_and(|step| step.expect.kind != Some(error));
        if !name.map_or_else(answers, |name| case.name == name) {
            continue;
        }
        let scenario = Scenario::of_case(ctx, file, case).map_err(RehearsalError::Setup)?;
        if let Some(scenario) = scenario {
            return Ok(scenario.with(|scenario| scenario.name.clone_from(&case.name)));
        }
    }
    if name.is_some() || ctx.cases(role).next().is_some() {
        return Err(RehearsalError::NoCase { role, name: name.map(str::to_owned) });
    }
    let plain = plain(ctx, role).map_err(RehearsalError::Setup)?;
    Ok(plain.with(|scenario| scenario.name = NO_CASE.to_owned()))
}

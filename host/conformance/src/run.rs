//! Cases that are carried out for a person who looks at them: each call with its answer, its log, its time and its memory.

use serde::Serialize;
use thiserror::Error;
use tokio::time::Instant;
use witlet_wasm::direct::CapturedLine;
use witlet_wasm::inspect::{InspectError, inspect};
use witlet_wasm::role::Role;

use crate::cases::matching::differs;
use crate::cases::model::{Case, CaseFile};
use crate::check::cut;
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::kit::Kit;
use crate::load::interface;
use crate::plan::{Plan, Subject};
use crate::plugin::validated;
use crate::plugin_response::{CallResult, PluginResponse, ResponseKind, in_words};
use crate::scenario::{Scenario, StepReport};
use crate::vectors::VALIDATES;

/// Why no case was carried out.
#[derive(Debug, Error)]
pub enum RunError {
    /// It is no component.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The component can't be used here at all.
    #[error("it has no role that this release supports: {}", obstacles.join("; "))]
    NoRole {
        /// Why not.
        obstacles: Vec<String>,
    },
    /// There is nothing to ask.
    #[error("there are no cases of the role {}: write them into cases.yaml next to the component, or name case files", roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" or "))]
    NoCases {
        /// The component's roles.
        roles: Vec<Role>,
    },
    /// No case has this name.
    #[error("no case of the component's roles is called {name:?}")]
    NoCase {
        /// The name that was asked for.
        name: String,
    },
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseRun {
    /// The case file.
    pub file: String,
    /// The case's name in it.
    pub case: String,
    /// Whom it asks.
    pub role: Role,
    /// The calls, in their order: of a pod source one for each step.
    pub calls: Vec<CaseCall>,
    /// What the case's servers received.
    pub received: Vec<ReceivedBytes>,
    /// Why it wasn't carried out to its end; none if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseCall {
    /// The function of the contract.
    pub function: String,
    /// What came back.
    pub answer: CaseAnswer,
    /// How that differs from what the case expects; none if it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// From the question to the answer; of `validate` with loading.
    pub took_seconds: f64,
    /// Processor time, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The most linear memory that the instance had, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_peak: Option<usize>,
    /// What the plugin logged.
    pub log: Vec<CapturedLine>,
    /// Commands that a probe ran.
    pub commands: Vec<Vec<String>>,
}

/// An answer. What its kind doesn't have is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseAnswer {
    /// `admit`, `reject` and so on as recorded calls name them; `failed` where there is none, and `ok`, `error` and `parametersRefused`.
    pub kind: &'static str,
    /// The CamelCase word of a verdict or of a source's error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The message of a verdict or an error, the detail of an outcome, or why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the plugin wants to be asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_milliseconds: Option<u64>,
    /// What the node lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<MissingResource>,
    /// What a source brought.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    /// What a source wants to get back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// All of it in one line.
    #[serde(skip)]
    pub words: String,
}

/// A resource that doesn't suffice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingResource {
    /// Its name.
    pub resource: String,
    /// What the pod asks for.
    pub requested: i64,
    /// What others have.
    pub used: i64,
    /// What there is.
    pub capacity: i64,
}

/// What a server of a case received in one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceivedBytes {
    /// Where it listens.
    pub port: u16,
    /// As text, what isn't UTF-8 replaced; cut where it is long.
    pub text: String,
}

impl CaseRun {
    /// Whether all came as the case expects.
    pub fn is_as_expected(&self) -> bool {
        self.problem.is_none() && self.calls.iter().all(|call| call.differs.is_none())
    }
}

impl CaseAnswer {
    fn new(answered: &CallResult) -> Self {
        let words = in_words(answered);
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        match answered {
            Ok(PluginResponse { kind, reason, text, milliseconds, shortages, manifests, cursor }) => Self {
                kind: kind_word(*kind),
                reason: some(reason),
                message: some(text),
                retry_after_milliseconds: *milliseconds,
                resources: shortages
                    .iter()
                    .map(|shortage| MissingResource {
                        resource: shortage.resource.clone(),
                        requested: shortage.requested,
                        used: shortage.used,
                        capacity: shortage.capacity,
                    })
                    .collect(),
                manifests: manifests.clone(),
                cursor: cursor.clone(),
                words,
            },
            Err(error) => Self { kind: "failed", message: Some(error.sentence()), words, ..Self::default() },
        }
    }
}

fn kind_word(kind: ResponseKind) -> &'static str {
    match kind {
        ResponseKind::Done => "ok",
        ResponseKind::Error => "error",
        ResponseKind::ParametersRefused => "parametersRefused",
        ResponseKind::SourceError => "fault",
        ResponseKind::Admit
        | ResponseKind::Reject
        | ResponseKind::Defer
        | ResponseKind::Shortage
        | ResponseKind::Success
        | ResponseKind::Warning
        | ResponseKind::Failure
        | ResponseKind::Pods
        | ResponseKind::Empty
        | ResponseKind::Unchanged => kind.as_str(),
    }
}

impl Kit {
    /// Carries out the plan's cases of the component's roles, one after the other: those of these names, or all.
    ///
    /// # Errors
    ///
    /// When there is nothing to carry out. What the component does wrong is in the cases' answers.
    pub async fn run_cases(
        &self,
        subject: &Subject,
        plan: &Plan,
        names: &[String],
    ) -> Result<Vec<CaseRun>, RunError> {
        let ctx = Ctx { engines: &self.0, subject, plan, inspection: inspect(&subject.wasm)? };
        let roles = ctx.roles();
        if roles.is_empty() {
            return Err(RunError::NoRole { obstacles: ctx.inspection.obstacles });
        }
        let all: Vec<(&CaseFile, &Case)> = roles.iter().flat_map(|role| ctx.cases(*role)).collect();
        let chosen = chosen(&all, names, |(_, case)| &case.name).map_err(|name| match name {
            Some(name) => RunError::NoCase { name },
            None => RunError::NoCases { roles },
        })?;
        let mut runs = Vec::with_capacity(chosen.len());
        for (file, case) in chosen {
            runs.push(carry_out(&ctx, file, case).await);
        }
        Ok(runs)
    }
}

/// Those of these names, or all. The error is the first name that none has, or nothing where there is none at all.
fn chosen<T: Copy>(all: &[T], names: &[String], name: impl Fn(&T) -> &str) -> Result<Vec<T>, Option<String>> {
    if all.is_empty() {
        return Err(None);
    }
    if let Some(missing) = names.iter().find(|wanted| !all.iter().any(|one| name(one) == wanted.as_str())) {
        return Err(Some(missing.clone()));
    }
    let is_chosen = |one: &T| names.is_empty() || names.iter().any(|wanted| name(one) == wanted);
    Ok(all.iter().copied().filter(is_chosen).collect())
}

async fn carry_out(ctx: &Ctx<'_>, file: &CaseFile, case: &Case) -> CaseRun {
    let mut run = CaseRun {
        file: file.name.clone(),
        case: case.name.clone(),
        role: file.role,
        calls: Vec::new(),
        received: Vec::new(),
        problem: None,
    };
    run.problem = calls(ctx, file, case, &mut run).await.err();
    run
}

/// Makes the calls of a case. The error says why there are no more of them.
async fn calls(ctx: &Ctx<'_>, file: &CaseFile, case: &Case, run: &mut CaseRun) -> Result<(), String> {
    let setup = ctx.setup_of(file, case.config.as_ref()).map_err(|error| error.to_string())?;
    if let Some(expect) = &case.validate {
        let started = Instant::now();
        let answered = validated(&ctx.load(&setup.at(address())).await)?;
        run.calls.push(CaseCall {
            function: format!("{}.validate", interface(file.role)),
            answer: CaseAnswer::new(&answered),
            differs: differs(expect, &answered, &[], VALIDATES),
            took_seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: None,
            memory_bytes_peak: None,
            log: Vec::new(),
            commands: Vec::new(),
        });
        return Ok(());
    }
    let Some(scenario) = Scenario::beginning(&setup, case) else { return Ok(()) };
    let mut stage = scenario.stage(ctx).await?;
    for step in &case.steps {
        let StepReport { asked, took, lines, differs } = stage.carry_out(step).await?;
        run.calls.push(CaseCall {
            function: step.question.function().to_owned(),
            answer: CaseAnswer::new(&asked.result),
            differs,
            took_seconds: took.as_secs_f64(),
            cpu_seconds: asked.cpu.map(|cpu| cpu.as_secs_f64()),
            memory_bytes_peak: Some(asked.memory_bytes_peak).filter(|bytes| *bytes > 0),
            log: lines,
            commands: stage.plugin.commands(),
        });
    }
    let received = stage.servers.received().into_iter();
    run.received = received
        .map(|(port, bytes)| ReceivedBytes { port, text: cut(String::from_utf8_lossy(&bytes).into_owned()) })
        .collect();
    Ok(())
}

#[cfg(test)]
mod tests;

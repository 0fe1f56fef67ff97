//! A case that was carried out: each call with its answer, its log, its time and its memory.

use serde::Serialize;
use tokio::time::Instant;
use witlet_core::admission::Shortage;
use witlet_wasm::direct::CapturedLine;
use witlet_wasm::role::Role;

use crate::cases::matching::differs;
use crate::cases::model::{Case, CaseFile};
use crate::check::{TEXT_BYTES_MAX, cut};
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::load::interface;
use crate::plugin::validated;
use crate::plugin_response::{CallResult, PluginResponse, ResponseKind, in_words};
use crate::scenario::{Scenario, StageError, StepReport};
use crate::setup::Setup;

/// What `validate` promises.
const VALIDATES: &str = "validate returns nothing, or an error in the plugin's own words, within a second";

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseRun {
    pub file: String,
    /// The case's name in it.
    pub case: String,
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
    pub resources: Vec<Shortage>,
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

/// What a server of a case received in one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceivedBytes {
    pub port: u16,
    /// As text, what isn't UTF-8 replaced; cut where it is long.
    pub text: String,
}

impl CaseRun {
    /// Creates the run of a case, before its first step.
    pub(crate) fn new(file: &CaseFile, case: &Case) -> Self {
        let (file, case, role) = (file.name.clone(), case.name.clone(), file.role);
        Self { file, case, role, calls: Vec::new(), received: Vec::new(), problem: None }
    }

    /// Makes the calls of the case, `to_the_end` or up to the first one that doesn't come as the case expects. The error says why there are
    /// no more of them.
    pub(crate) async fn carry_out(
        &mut self,
        ctx: &Ctx<'_>,
        setup: &Setup,
        case: &Case,
        to_the_end: bool,
    ) -> Result<(), StageError> {
        if let Some(expect) = &case.validate {
            let started = Instant::now();
            let answered = validated(ctx.load(&setup.at(address())).await)?;
            self.calls.push(CaseCall {
                function: format!("{}.validate", interface(self.role)),
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
        let Some(scenario) = Scenario::beginning(setup, case) else { return Ok(()) };
        let mut stage = scenario.stage(ctx).await?;
        for step in &case.steps {
            let StepReport { asked, took, lines, differs } = stage.carry_out(step).await?;
            let is_last = differs.is_some() && !to_the_end;
            self.calls.push(CaseCall {
                function: step.question.function().to_owned(),
                answer: CaseAnswer::new(&asked.result),
                differs,
                took_seconds: took.as_secs_f64(),
                cpu_seconds: asked.cpu.map(|cpu| cpu.as_secs_f64()),
                memory_bytes_peak: Some(asked.memory_bytes_peak).filter(|bytes| *bytes > 0),
                log: lines,
                commands: stage.plugin.commands(),
            });
            if is_last {
                break;
            }
        }
        let text = |bytes: Vec<u8>| cut(String::from_utf8_lossy(&bytes).into_owned(), TEXT_BYTES_MAX);
        let received = stage.servers.received().into_iter();
        self.received = received.map(|(port, bytes)| ReceivedBytes { port, text: text(bytes) }).collect();
        Ok(())
    }

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
                resources: shortages.clone(),
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
        ResponseKind::Error => "error",
        ResponseKind::ParametersRefused => "parametersRefused",
        ResponseKind::SourceError => "fault",
        kind => kind.as_str(),
    }
}

#[cfg(test)]
mod tests;

//! What came of each pod, for programs; people see the same by `shown`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use k8s_openapi::api::core::v1::PodStatus;
use serde::Serialize;
use witlet_core::admission::chain::{FailurePolicy, HandlerResponse};
use witlet_core::admission::outcome::{Outcome, OutcomeKind};
use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_core::sources::manifest::Document;
use witlet_wasm::direct::CapturedLine;
use witlet_wasm::host::{Explanation, HandlerAnswer, HandlerReport, HandlerStep};

use super::files::shown;

#[cfg(test)]
pub(crate) mod tests;

/// `kind` of a report on manifests.
pub(super) const EVALUATION: &str = "PluginEvaluation";

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvalResult {
    /// All pods are admitted.
    Admitted,
    NotAdmitted,
    /// Something that was given is invalid, so that not everything was judged as it should be.
    Invalid,
}

/// The whole report. Fields are added only.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugin) struct Report {
    pub(in crate::plugin) api_version: &'static str,
    pub(in crate::plugin) kind: &'static str,
    /// In the order of the input.
    pub(in crate::plugin) pods: Vec<PodReport>,
    /// What was passed over, a line each.
    pub(in crate::plugin) skipped: Vec<String>,
    /// What is wrong with the input, a line each.
    pub(in crate::plugin) problems: Vec<String>,
}

impl Report {
    /// Of a kind, without anything in it.
    pub(in crate::plugin) fn new(kind: &'static str) -> Self {
        Self { api_version: "witlet.dev/v1alpha1", kind, ..Self::default() }
    }

    /// What the exit code says.
    pub(in crate::plugin) fn result(&self) -> EvalResult {
        if !self.problems.is_empty() {
            EvalResult::Invalid
        } else if self.pods.iter().all(PodReport::is_admitted) {
            EvalResult::Admitted
        } else {
            EvalResult::NotAdmitted
        }
    }
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugin) struct QuestionPlace {
    /// The file, as it was named; the agent for a pod that runs.
    pub(super) file: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<usize>,
    /// From 1, of the document's first content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    /// Path in the document; empty for the whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) item: String,
}

impl QuestionPlace {
    /// A whole file.
    pub(in crate::plugin) fn of_file(path: &Path) -> Self {
        Self { file: shown(path), document: None, line: None, item: String::new() }
    }

    /// A document of a file, or an item of its list.
    pub(super) fn of_document(path: &Path, document: Document, item: &str) -> Self {
        Self {
            document: Some(document.number),
            line: Some(document.line),
            item: item.to_owned(),
            ..Self::of_file(path)
        }
    }
}

impl fmt::Display for QuestionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(document), Some(line)) = (self.document, self.line) {
            write!(f, ": document {document} (line {line})")?;
        }
        if self.item.is_empty() { Ok(()) } else { write!(f, ": {}", self.item) }
    }
}

/// One pod.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugin) struct PodReport {
    pub(super) place: QuestionPlace,
    /// The object that makes the pod.
    pub(super) object: Option<String>,
    pub(in crate::plugin) namespace: String,
    pub(in crate::plugin) name: String,
    source: String,
    /// `add`, `resize`, `update`, `ephemeral`, `image-resolved`, `readmit` or `recheck`.
    pub(super) operation: &'static str,
    /// The one whose image is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// `admitted`, `rejected`, `deferred` or `preempting`.
    pub(in crate::plugin) outcome: &'static str,
    /// The handler whose answer decided, if one's did.
    pub(in crate::plugin) decided_by: Option<String>,
    /// What the pod's status would say; null if it starts or goes on, and of an image, a readmission and a recheck.
    pub(in crate::plugin) status: Option<PodStatus>,
    /// Pods that would end for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) preempts: Vec<String>,
    /// In the order of asking.
    pub(super) handlers: Vec<HandlerLine>,
}

impl PodReport {
    /// Of what was asked, and of what came of it. Without an explanation no handler was asked.
    pub(in crate::plugin) fn new(
        (place, object): (QuestionPlace, Option<String>),
        request: &AdmissionRequest,
        outcome: Outcome,
        explanation: Option<Explanation>,
        preempts: Vec<String>,
    ) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &request.pod.metadata;
        let (decided_by, handlers) =
            explanation.map_or_else(Default::default, |explained| (explained.decided_by, explained.handlers));
        Self {
            place,
            object,
            namespace: text(&metadata.namespace),
            name: text(&metadata.name),
            source: request.source.to_string(),
            operation: request.operation.as_str(),
            container: request.image.as_ref().map(|image| image.container.clone()),
            outcome: outcome.kind.as_str(),
            decided_by,
            status: outcome.status,
            preempts,
            handlers: handlers.into_iter().map(HandlerLine::new).collect(),
        }
    }

    pub(in crate::plugin) fn is_admitted(&self) -> bool {
        self.outcome == OutcomeKind::Admitted.as_str()
    }
}

/// One handler's part.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HandlerLine {
    pub(super) name: String,
    builtin: bool,
    pub(super) shadow: bool,
    pub(super) digest: Option<String>,
    failure_policy: FailurePolicy,
    /// `admit`, `reject`, `defer`, `shortage`, `failed`, `notMatched` or `notAsked`.
    pub(super) outcome: &'static str,
    /// Whether the answer was part of the decision.
    pub(super) counts: bool,
    /// Of a refusal; of a failure the word that a waiting pod has.
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) retry_after_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) shortages: Vec<ShortageLine>,
    /// What a failure comes to.
    pub(super) effect: Option<&'static str>,
    /// What its entry says of pods like this, if that leaves the pod out.
    pub(super) rule: Option<String>,
    /// What the contract doesn't allow of its answer, and what it warned of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    /// What it noted for the decision log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) log: Vec<CapturedLine>,
    pub(super) took_seconds: Option<f64>,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) memory_bytes_peak: Option<u64>,
}

/// A resource that doesn't suffice. Milli-units for `cpu`, base units for everything else.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShortageLine {
    pub(super) resource: String,
    pub(super) requested: i64,
    pub(super) used: i64,
    pub(super) capacity: i64,
}

impl HandlerLine {
    fn new(report: HandlerReport) -> Self {
        let HandlerReport { name, builtin, shadow, digest, failure_policy, step } = report;
        let line = Self {
            name,
            builtin,
            shadow,
            digest,
            failure_policy,
            outcome: "notAsked",
            counts: false,
            reason: None,
            message: None,
            retry_after_seconds: None,
            shortages: Vec::new(),
            effect: None,
            rule: None,
            warnings: Vec::new(),
            annotations: BTreeMap::new(),
            log: Vec::new(),
            took_seconds: None,
            cpu_seconds: None,
            memory_bytes_peak: None,
        };
        match step {
            HandlerStep::NotAsked => line,
            HandlerStep::NotMatched { rule, message } => {
                Self { outcome: "notMatched", rule: Some(rule), message: Some(message), ..line }
            }
            HandlerStep::Answered(answer) => line.answered(answer),
        }
    }

    fn answered(self, answer: HandlerAnswer) -> Self {
        let HandlerAnswer {
            response,
            counts,
            fault,
            warnings,
            annotations,
            took,
            cpu,
            memory_bytes_peak,
            log,
        } = answer;
        let line = Self {
            counts,
            warnings: fault.into_iter().chain(warnings).collect(),
            annotations,
            log,
            took_seconds: Some(took.as_secs_f64()),
            cpu_seconds: Some(cpu.as_secs_f64()),
            memory_bytes_peak: Some(memory_bytes_peak),
            ..self
        };
        match response {
            HandlerResponse::Verdict(verdict) => line.said(verdict),
            HandlerResponse::Failure { kind, message, policy, retry_after: _ } => Self {
                outcome: "failed",
                reason: Some(kind.as_str().to_owned()),
                message: Some(message),
                effect: Some(match policy {
                    FailurePolicy::Reject => "the pod is rejected (failurePolicy Reject)",
                    FailurePolicy::Admit => "it counts as admitted (failurePolicy Admit)",
                    FailurePolicy::Defer => "the pod waits (failurePolicy Defer)",
                }),
                ..line
            },
        }
    }

    fn said(self, verdict: Verdict) -> Self {
        match verdict {
            Verdict::Admit => Self { outcome: "admit", ..self },
            Verdict::Reject { reason, message } => {
                Self { outcome: "reject", reason: Some(reason), message: Some(message), ..self }
            }
            Verdict::Defer { reason, message, retry_after } => Self {
                outcome: "defer",
                reason: Some(reason),
                message: Some(message),
                retry_after_seconds: Some(retry_after.as_secs_f64()),
                ..self
            },
            Verdict::Shortage(shortages) => {
                let shortages = shortages.into_iter().map(|shortage| ShortageLine {
                    resource: shortage.resource,
                    requested: shortage.requested,
                    used: shortage.used,
                    capacity: shortage.capacity,
                });
                Self { outcome: "shortage", shortages: shortages.collect(), ..self }
            }
        }
    }
}

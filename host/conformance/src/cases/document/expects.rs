//! What must come of a case, as a case file writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Problem, validate};
use crate::cases::{
    AdmissionExpect, LineExpect, OutcomeWord, ProbeExpect, ShortageExpect, SnapshotExpect, SourceExpect,
    Text, VerdictExpect,
};

/// A text and how it is compared: at most one of the three.
fn text(
    name: &str,
    exact: Option<String>,
    contains: Option<String>,
    json: Option<Value>,
) -> Result<Text, Problem> {
    let said = usize::from(exact.is_some()) + usize::from(contains.is_some()) + usize::from(json.is_some());
    if said > 1 {
        return Problem::new(name, format!("one of `{name}`, `{name}Contains` and `{name}Json` is enough"));
    }
    Ok(Text { exact, contains, json })
}

/// Refuses a field that says nothing about what is expected.
fn unused(name: &str, given: bool, of: &str) -> Result<(), Problem> {
    if given { Problem::new(name, format!("{of} has none: leave it out")) } else { Ok(()) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LineDocument {
    level: Option<String>,
    message: Option<String>,
    message_contains: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, Option<String>>,
}

/// Levels of lines, as the contract names them.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

fn lines(documents: Vec<LineDocument>) -> Result<Vec<LineExpect>, Problem> {
    let line = |document: LineDocument| {
        let LineDocument { level, message, message_contains, fields } = document;
        let message = text("message", message, message_contains, None)?;
        if let Some(level) = level.as_deref().filter(|level| !LEVELS.contains(level)) {
            return Problem::new("level", format!("{level:?} is none of {}", LEVELS.join(", ")));
        }
        Ok(LineExpect { level, message, fields: fields.into_iter().collect() })
    };
    let lines = documents.into_iter().enumerate();
    lines
        .map(|(index, document)| line(document).map_err(|problem| problem.within(&format!("logs[{index}]"))))
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum VerdictWord {
    #[serde(rename = "wellFormed")]
    WellFormed,
    Admit,
    Reject,
    Defer,
    Shortage,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AdmissionExpectDocument {
    verdict: Option<VerdictWord>,
    reason: Option<String>,
    message: Option<String>,
    message_contains: Option<String>,
    message_json: Option<Value>,
    retry_after_milliseconds: Option<u64>,
    resources: Option<Vec<ShortageDocument>>,
    error: Option<String>,
    validate: Option<String>,
    #[serde(default)]
    logs: Vec<LineDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ShortageDocument {
    resource: String,
    requested: Option<i64>,
    used: Option<i64>,
    capacity: Option<i64>,
}

/// Which fields an expectation has use for.
#[derive(Clone, Copy, Default)]
struct Uses {
    words: bool,
    time: bool,
    resources: bool,
    logs: bool,
}

impl AdmissionExpectDocument {
    /// Whether nothing is asked.
    pub(super) fn is_validate(&self) -> bool {
        self.validate.is_some()
    }

    /// Refuses what has no use in what is expected.
    fn check(&self, of: &str, uses: Uses) -> Result<(), Problem> {
        let message =
            self.message.is_some() || self.message_contains.is_some() || self.message_json.is_some();
        unused("reason", self.reason.is_some() && !uses.words, of)?;
        unused("message", message && !uses.words, of)?;
        unused("retryAfterMilliseconds", self.retry_after_milliseconds.is_some() && !uses.time, of)?;
        unused("resources", self.resources.is_some() && !uses.resources, of)?;
        unused("logs", !self.logs.is_empty() && !uses.logs, of)
    }

    pub(super) fn take(mut self) -> Result<AdmissionExpect, Problem> {
        let verdict = Uses { logs: true, ..Uses::default() };
        match (self.verdict.take(), self.error.take(), self.validate.take()) {
            (None, None, Some(words)) => {
                self.check("`validate`", Uses::default())?;
                Ok(AdmissionExpect::Validate(validate(&words)))
            }
            (None, Some(words), None) => {
                self.check("an error", Uses::default())?;
                Ok(AdmissionExpect::Error(words))
            }
            (Some(word), None, None) => {
                match word {
                    VerdictWord::WellFormed => self.check("`wellFormed`", verdict)?,
                    VerdictWord::Admit => self.check("`admit`", verdict)?,
                    VerdictWord::Reject => self.check("`reject`", Uses { words: true, ..verdict })?,
                    VerdictWord::Defer => {
                        self.check("`defer`", Uses { words: true, time: true, ..verdict })?
                    }
                    VerdictWord::Shortage => self.check("`shortage`", Uses { resources: true, ..verdict })?,
                }
                self.verdict(word)
            }
            (None, None, None) | (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                Problem::new("verdict", "a case expects one of `verdict`, `error` and `validate`")
            }
        }
    }

    fn verdict(self, word: VerdictWord) -> Result<AdmissionExpect, Problem> {
        let Self { reason, retry_after_milliseconds, resources, logs, .. } = self;
        let message = text("message", self.message, self.message_contains, self.message_json)?;
        let verdict = match word {
            VerdictWord::WellFormed => VerdictExpect::WellFormed,
            VerdictWord::Admit => VerdictExpect::Admit,
            VerdictWord::Reject => VerdictExpect::Reject { reason, message },
            VerdictWord::Defer => VerdictExpect::Defer { reason, message, retry_after_milliseconds },
            VerdictWord::Shortage => {
                let resources = resources.map(|all| all.into_iter().map(ShortageDocument::take).collect());
                VerdictExpect::Shortage { resources }
            }
        };
        Ok(AdmissionExpect::Verdict { verdict, logs: lines(logs)? })
    }
}

impl ShortageDocument {
    fn take(self) -> ShortageExpect {
        let Self { resource, requested, used, capacity } = self;
        ShortageExpect { resource, requested, used, capacity }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutcomeDocument {
    #[serde(rename = "wellFormed")]
    WellFormed,
    Success,
    Warning,
    Failure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProbeExpectDocument {
    outcome: Option<OutcomeDocument>,
    detail: Option<String>,
    detail_contains: Option<String>,
    detail_json: Option<Value>,
    error: Option<String>,
    parameters: Option<String>,
    validate: Option<String>,
    #[serde(default)]
    logs: Vec<LineDocument>,
}

impl ProbeExpectDocument {
    pub(super) fn take(self) -> Result<ProbeExpect, Problem> {
        let Self { outcome, error, parameters, logs, .. } = self;
        let has_detail =
            self.detail.is_some() || self.detail_contains.is_some() || self.detail_json.is_some();
        let detail = text("detail", self.detail, self.detail_contains, self.detail_json)?;
        if outcome.is_none() {
            unused("detail", has_detail, "what is no outcome")?;
            unused("logs", !logs.is_empty(), "what is no outcome")?;
        }
        match (outcome, error, parameters, self.validate) {
            (Some(outcome), None, None, None) => {
                let outcome = match outcome {
                    OutcomeDocument::WellFormed => OutcomeWord::WellFormed,
                    OutcomeDocument::Success => OutcomeWord::Success,
                    OutcomeDocument::Warning => OutcomeWord::Warning,
                    OutcomeDocument::Failure => OutcomeWord::Failure,
                };
                Ok(ProbeExpect::Outcome { outcome, detail, logs: lines(logs)? })
            }
            (None, Some(words), None, None) => Ok(ProbeExpect::Error(words)),
            (None, None, Some(words), None) => Ok(ProbeExpect::Parameters(validate(&words))),
            (None, None, None, Some(words)) => Ok(ProbeExpect::Validate(validate(&words))),
            // All other combinations of four.
            _ => {
                let problem = "a case expects one of `outcome`, `error`, `parameters` and `validate`";
                Problem::new("outcome", problem)
            }
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SnapshotWord {
    #[serde(rename = "wellFormed")]
    WellFormed,
    Pods,
    Empty,
    Unchanged,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SourceExpectDocument {
    snapshot: Option<SnapshotWord>,
    pods: Option<Vec<Value>>,
    cursor: Option<String>,
    next_poll_milliseconds: Option<u64>,
    error: Option<String>,
    message: Option<String>,
    message_contains: Option<String>,
    message_json: Option<Value>,
    retry_after_milliseconds: Option<u64>,
    feedback: Option<String>,
    #[serde(default)]
    logs: Vec<LineDocument>,
}

impl SourceExpectDocument {
    pub(super) fn take(self) -> Result<SourceExpect, Problem> {
        let Self { snapshot, pods, cursor, next_poll_milliseconds, error, feedback, logs, .. } = self;
        let retry_after_milliseconds = self.retry_after_milliseconds;
        let has_message =
            self.message.is_some() || self.message_contains.is_some() || self.message_json.is_some();
        if error.is_none() && feedback.is_none() {
            unused("message", has_message, "what is no error")?;
        }
        if error.is_none() {
            unused("retryAfterMilliseconds", retry_after_milliseconds.is_some(), "what is no error")?;
        }
        if snapshot.is_none() {
            unused("cursor", cursor.is_some(), "what is no snapshot")?;
            unused("nextPollMilliseconds", next_poll_milliseconds.is_some(), "what is no snapshot")?;
        }
        if !matches!(snapshot, Some(SnapshotWord::Pods)) {
            unused("pods", pods.is_some(), "what isn't `snapshot: pods`")?;
        }
        let message = text("message", self.message, self.message_contains, self.message_json)?;
        let logs = lines(logs)?;
        match (snapshot, error, feedback) {
            (Some(word), None, None) => {
                let snapshot = match word {
                    SnapshotWord::WellFormed => SnapshotExpect::WellFormed,
                    SnapshotWord::Pods => SnapshotExpect::Pods(pods),
                    SnapshotWord::Empty => SnapshotExpect::Empty,
                    SnapshotWord::Unchanged => SnapshotExpect::Unchanged,
                };
                Ok(SourceExpect::Snapshot { snapshot, cursor, next_poll_milliseconds, logs })
            }
            (None, Some(reason), None) => {
                Ok(SourceExpect::Error { reason: Some(reason), message, retry_after_milliseconds, logs })
            }
            (None, None, Some(words)) => {
                Ok(SourceExpect::Feedback { answer: validate(&words), message, logs })
            }
            (None, None, None) | (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                Problem::new("snapshot", "a step expects one of `snapshot`, `error` and `feedback`")
            }
        }
    }
}

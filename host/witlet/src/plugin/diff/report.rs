//! How two versions compare, for people and for programs.

use std::time::Duration;

use serde::Serialize;
use witlet_core::admission::AdmissionRequest;
use witlet_core::pod::PodFullName;
use witlet_wasm::record::RecordedResponse;

use crate::get::table::{one_line, render};
use crate::plugin::list::{bytes, seconds};
use crate::plugin::replay::response_text;

/// How much of a digest people see.
const DIGEST_CHARS: usize = 12;

/// How two versions answered what was recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    pub(crate) a: SideFigures,
    pub(crate) b: SideFigures,
    /// How many recorded questions both were asked.
    pub(crate) requests: usize,
    /// Those that they answered differently, the oldest first.
    pub(crate) differences: Vec<Difference>,
    /// Recorded calls that couldn't be put to both.
    pub(crate) skipped: Vec<SkippedRecording>,
}

/// What one version took.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SideFigures {
    /// As the command line names it.
    pub(crate) source: String,
    /// SHA-256 of its component, in hexadecimal.
    pub(crate) digest: String,
    /// Calls without a verdict.
    pub(crate) errors: usize,
    /// How long half of the calls took at most.
    pub(crate) p50_seconds: f64,
    /// How long 99 of 100 calls took at most.
    pub(crate) p99_seconds: f64,
    /// Processor time of all calls.
    pub(crate) cpu_seconds: f64,
    /// The most memory that an instance had.
    pub(crate) memory_bytes_peak: usize,
}

impl SideFigures {
    /// Creates the report of the calls that took these times.
    pub(super) fn new(
        (source, digest): (String, String),
        mut times: Vec<Duration>,
        cpu: Duration,
        errors: usize,
        memory_bytes_peak: usize,
    ) -> Self {
        times.sort_unstable();
        let rank = |percent: usize| {
            let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(place).map_or(0.0, Duration::as_secs_f64)
        };
        Self {
            source,
            digest,
            errors,
            p50_seconds: rank(50),
            p99_seconds: rank(99),
            cpu_seconds: cpu.as_secs_f64(),
            memory_bytes_peak,
        }
    }
}

/// A recorded call that wasn't compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkippedRecording {
    pub(crate) recording: String,
    pub(crate) problem: String,
}

/// What of two answers isn't the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DifferenceKind {
    /// What becomes of the pod, or the reason.
    Verdict,
    /// The verdict is the same, and what stands next to its reason isn't.
    Message,
}

/// What is asked about which pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pod: String,
    operation: &'static str,
}

/// Returns the subject of a request.
pub(super) fn subject(request: &AdmissionRequest) -> Subject {
    Subject { pod: PodFullName::of(&request.pod).to_string(), operation: request.operation.as_str() }
}

/// A question with two answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    /// The file of the recorded call.
    pub(crate) recording: String,
    /// The plugin that was asked then.
    pub(crate) plugin: String,
    /// Namespace and name of the pod.
    pub(crate) pod: String,
    /// Why it was asked.
    pub(crate) operation: &'static str,
    pub(crate) kind: DifferenceKind,
    /// The first version's answer.
    pub(crate) a: HandlerAnswer,
    pub(crate) b: HandlerAnswer,
}

impl Difference {
    /// Between two answers, if there is one.
    pub(super) fn between(
        (recording, plugin, subject): (String, &str, Subject),
        a: &RecordedResponse,
        b: &RecordedResponse,
    ) -> Option<Self> {
        if a.agrees_with(b) {
            return None;
        }
        let Subject { pod, operation } = subject;
        let (a, b) = (HandlerAnswer::of(a), HandlerAnswer::of(b));
        let is_same_verdict = (a.verdict, &a.reason) == (b.verdict, &b.reason);
        let kind = if is_same_verdict { DifferenceKind::Message } else { DifferenceKind::Verdict };
        Some(Self { recording, plugin: plugin.to_owned(), pod, operation, kind, a, b })
    }
}

/// What one version said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HandlerAnswer {
    /// `admit`, `reject`, `defer`, `shortage`, or `failed`.
    pub(crate) verdict: &'static str,
    /// The reason, or how the call failed.
    pub(crate) reason: Option<String>,
    /// The message, what lacks, or what happened.
    pub(crate) message: Option<String>,
    #[serde(skip)]
    pub(crate) words: String,
}

impl HandlerAnswer {
    pub(super) fn of(response: &RecordedResponse) -> Self {
        let (verdict, reason, message) = match response {
            RecordedResponse::Reject { reason, message } => ("reject", Some(reason.clone()), Some(message.clone())),
            RecordedResponse::Defer { reason, message, .. } => {
                ("defer", Some(reason.clone()), Some(message.clone()))
            }
            RecordedResponse::Shortage { resources } => ("shortage", None, Some(resources.join("; "))),
            RecordedResponse::Failed { outcome, message } => {
                ("failed", Some(outcome.clone()), Some(message.clone()))
            }
            RecordedResponse::Admit
            // No admission handler says these.
            | RecordedResponse::Success { .. }
            | RecordedResponse::Warning { .. }
            | RecordedResponse::Failure { .. }
            | RecordedResponse::Unchanged { .. }
            | RecordedResponse::Pods { .. }
            | RecordedResponse::Empty { .. }
            | RecordedResponse::Fault { .. } => ("admit", None, None),
        };
        Self { verdict, reason, message, words: response_text(response) }
    }
}

impl Comparison {
    /// Whether both answered every question in the same way.
    pub(crate) fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Each difference, then how many there are, then what both took.
    pub(super) fn for_people(&self) -> String {
        let mut text = String::new();
        for Difference { recording, pod, operation, a, b, .. } in &self.differences {
            let lines = [
                format!("{pod} ({operation}), {recording}"),
                format!("  a  {}", a.words),
                format!("  b  {}", b.words),
            ];
            lines.iter().for_each(|line| text.push_str(&format!("{}\n", one_line(line))));
        }
        for SkippedRecording { recording, problem } in &self.skipped {
            text.push_str(&format!("{}\n", one_line(&format!("skipped {recording}: {problem}"))));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text + &self.summary() + "\n" + &self.table()
    }

    fn summary(&self) -> String {
        let of_kind = |kind| self.differences.iter().filter(|difference| difference.kind == kind).count();
        let (verdicts, messages) = (of_kind(DifferenceKind::Verdict), of_kind(DifferenceKind::Message));
        let same = self.requests - self.differences.len();
        let plural = if self.requests == 1 { "" } else { "s" };
        let skipped = match self.skipped.len() {
            0 => String::new(),
            count => format!("; {count} skipped"),
        };
        format!(
            "{} request{plural}: {same} same, {verdicts} with another verdict, {messages} with another message{skipped}\n",
            self.requests
        )
    }

    fn table(&self) -> String {
        let row = |side: &str, figures: &SideFigures| {
            vec![
                side.to_owned(),
                figures.digest.chars().take(DIGEST_CHARS).collect(),
                figures.errors.to_string(),
                seconds(figures.p50_seconds),
                seconds(figures.p99_seconds),
                seconds(figures.cpu_seconds),
                bytes(figures.memory_bytes_peak as u64),
                figures.source.clone(),
            ]
        };
        let header = ["", "DIGEST", "ERRORS", "P50", "P99", "CPU", "MEMORY", "SOURCE"];
        render(&header, &[row("a", &self.a), row("b", &self.b)])
    }
}

#[cfg(test)]
mod tests;

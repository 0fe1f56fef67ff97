//! What a probe type says of what it found, where it says that by calls: kept as it is said, judged at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use witlet_core::probe::ProbeOutcome;

use crate::worlds::remarks::{Annotations, Warnings};
use crate::worlds::said::Said;
use crate::worlds::{Reply, output};

/// How much of an outcome's text and of a command's output is kept (upstream: `maxReadLength`, `maxRespBodyLength`).
pub(crate) const TEXT_BYTES_MAX: usize = 10 << 10;

/// What an answer can say.
const WORDS: &str = "success, failure, unknown";

/// What was found.
#[derive(Debug)]
pub(super) enum Statement {
    Success(String),
    Failure(String),
    Unknown(String),
}

/// What stands next to an outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeRemarks {
    /// How long the probed thing took to answer.
    pub(crate) latency: Option<Duration>,
    /// For those who check the call later.
    pub(crate) annotations: BTreeMap<String, String>,
    /// How many warnings and annotations didn't fit.
    pub(crate) left_out: usize,
}

/// Takes what a probe type says.
#[derive(Debug, Default)]
pub(crate) struct ProbeSink {
    said: Said<Statement>,
    warnings: Warnings,
    annotations: Annotations,
    latency: Option<Duration>,
}

impl ProbeSink {
    /// Adds a statement; its text is cut.
    pub(super) fn say(&mut self, statement: Statement) {
        let cut = |text| output(text, TEXT_BYTES_MAX);
        match statement {
            Statement::Success(text) => self.said.say("success", Statement::Success(cut(text))),
            Statement::Failure(text) => self.said.say("failure", Statement::Failure(cut(text))),
            Statement::Unknown(text) => self.said.say("unknown", Statement::Unknown(cut(text))),
        }
    }

    pub(super) fn warn(&mut self, message: &str) {
        self.warnings.add(message);
    }

    /// The last one counts.
    pub(super) fn set_latency(&mut self, latency: Duration) {
        self.latency = Some(latency);
    }

    pub(super) fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.add(key, value);
    }

    /// The outcome, with what was warned of in its text; and what stands next to it.
    pub(super) fn finish(self) -> (Reply<ProbeOutcome>, ProbeRemarks) {
        let Self { said, warnings, annotations, latency } = self;
        let left_out = warnings.left_out + annotations.left_out;
        let warned = warnings.kept.join("; ");
        let reply = match said.finish(WORDS) {
            Ok(Statement::Success(text)) if warned.is_empty() => Reply::Answer(ProbeOutcome::Success(text)),
            Ok(Statement::Success(text)) => {
                Reply::Answer(ProbeOutcome::Warning(joined(&[&warned, &text], "; ")))
            }
            Ok(Statement::Failure(text)) => {
                Reply::Answer(ProbeOutcome::Failure(joined(&[&text, &warned], "; ")))
            }
            Ok(Statement::Unknown(text)) if text.is_empty() => Reply::Refusal("it isn't known".to_owned()),
            Ok(Statement::Unknown(text)) => Reply::Refusal(text),
            Err(fault) => Reply::Malformed(fault),
        };
        (reply, ProbeRemarks { latency, annotations: annotations.kept, left_out })
    }
}

/// Returns those of the texts that say something, cut.
fn joined(texts: &[&str], between: &str) -> String {
    let texts: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    output(texts.join(between), TEXT_BYTES_MAX)
}

#[cfg(test)]
mod tests;

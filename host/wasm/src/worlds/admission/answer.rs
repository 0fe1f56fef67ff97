//! What a handler says to a question, where it says that by a call for each thing: kept as it is said, judged at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use witlet_core::admission::Shortage;

use crate::worlds::remarks::{Annotations, Warnings};

/// How many shortages a handler may name.
pub(crate) const SHORTAGES_MAX: usize = 64;
/// How many shortages are kept: one more than a handler may name, so that it is seen that they are too many.
const SHORTAGES_KEPT: usize = SHORTAGES_MAX + 1;

/// What becomes of a pod, as a handler said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Admit,
    Reject { reason: String, message: String },
    Defer { reason: String, message: String, retry_after: Duration },
    Shortages(Vec<Shortage>),
}

impl Statement {
    fn word(&self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Reject { .. } => "reject",
            Self::Defer { .. } => "defer",
            Self::Shortages(_) => "shortage",
        }
    }
}

/// What stands next to a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// For the pod's owner.
    pub(crate) warnings: Vec<String>,
    /// For the decision log.
    pub(crate) annotations: BTreeMap<String, String>,
    /// How many of both didn't fit.
    pub(crate) left_out: usize,
    /// Of an error: when another try makes sense.
    pub(crate) retry_after: Option<Duration>,
}

/// Takes what a handler says.
#[derive(Debug, Default)]
pub(crate) struct AnswerSink {
    said: Option<Statement>,
    /// What was said first, and what that doesn't go together with.
    contradiction: Option<(&'static str, &'static str)>,
    warnings: Warnings,
    annotations: Annotations,
}

impl AnswerSink {
    pub(crate) fn say(&mut self, statement: Statement) {
        self.said = Some(match (self.said.take(), statement) {
            (None, statement) => statement,
            (Some(Statement::Shortages(mut kept)), Statement::Shortages(more)) => {
                let capacity = SHORTAGES_KEPT.saturating_sub(kept.len());
                kept.extend(more.into_iter().take(capacity));
                Statement::Shortages(kept)
            }
            (Some(first), second) => {
                self.contradiction.get_or_insert((first.word(), second.word()));
                first
            }
        });
    }

    pub(crate) fn warn(&mut self, message: &str) {
        self.warnings.add(message);
    }

    /// The last value of a key counts.
    pub(crate) fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.add(key, value);
    }

    /// The one thing that was said of the pod, or why there isn't one; and what stands next to it.
    pub(crate) fn finish(self) -> (Result<Statement, String>, Remarks) {
        let said = match (self.contradiction, self.said) {
            (Some((first, second)), _) => Err(format!("it answered {first}, and then {second}")),
            (None, Some(statement)) => Ok(statement),
            (None, None) => {
                Err("it answered nothing: an answer is one of admit, reject, defer, shortage".to_owned())
            }
        };
        let left_out = self.warnings.left_out + self.annotations.left_out;
        let (warnings, annotations) = (self.warnings.kept, self.annotations.kept);
        let remarks = Remarks { warnings, annotations, left_out, retry_after: None };
        (said, remarks)
    }
}

#[cfg(test)]
mod tests;

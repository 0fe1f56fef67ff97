//! What becomes of a pod when one handler after the other was asked.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Decision, Shortage, Verdict};

/// No pod is asked for again sooner.
pub const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
/// A handler that asks for more is asked again after this much.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// When a pod is asked for again that waits because a handler failed.
pub const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Upstream's reason for a pod that was refused because admission itself went wrong.
const UNEXPECTED_ADMISSION_ERROR: &str = "UnexpectedAdmissionError";

/// What a handler's failure means for the pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailurePolicy {
    /// The pod is refused for good.
    Reject,
    /// As if the handler had nothing against it.
    Admit,
    /// The pod waits: nothing runs unchecked, and nothing is lost.
    #[default]
    Defer,
}

/// How a handler failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// It trapped.
    Trapped,
    /// It took longer than it may.
    TimedOut,
    /// It wanted more memory than it may have.
    OutOfMemory,
    /// It answered what the contract doesn't allow, such as a rejection without a reason.
    BadAnswer,
    /// It answered with an error.
    Failed,
    /// It could not be loaded.
    NotLoaded,
    /// It failed too often and isn't asked for a while.
    Quarantined,
    /// The host could not ask it.
    Host,
}

impl FailureKind {
    /// CamelCase word for the status of a pod that waits because of it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trapped => "HandlerTrapped",
            Self::TimedOut => "HandlerTimedOut",
            Self::OutOfMemory => "HandlerOutOfMemory",
            Self::BadAnswer => "HandlerBadAnswer",
            Self::Failed => "HandlerFailed",
            Self::NotLoaded => "HandlerNotLoaded",
            Self::Quarantined => "HandlerQuarantined",
            Self::Host => "HandlerNotAsked",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trapped => "trapped",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "ran out of memory",
            Self::BadAnswer => "gave an answer that isn't allowed",
            Self::Failed => "failed",
            Self::NotLoaded => "isn't loaded",
            Self::Quarantined => "is in quarantine",
            Self::Host => "could not be asked",
        })
    }
}

/// What came of asking one handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It answered.
    Verdict(Verdict),
    /// It didn't.
    Failure {
        /// How.
        kind: FailureKind,
        /// One sentence for people.
        message: String,
        /// What it means for the pod.
        policy: FailurePolicy,
    },
}

/// What to do after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask the next handler, or `finish` if there is none.
    Continue(Chain),
    /// No other answer can change this.
    Decided(Decision),
}

/// The answers so far. The first handler that refuses decides, in the handlers' order; but a shortage of resources
/// only decides when no later handler rejects the pod, since room could be made for a pod that fails by nothing else.
/// A later deferral doesn't lift a shortage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    shortage: Option<Shortage>,
}

impl Chain {
    /// Nobody was asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the answer of the handler with this name.
    pub fn answer(mut self, handler: &str, answer: Answer) -> Next {
        let decision = match answer {
            Answer::Verdict(Verdict::Admit) => return Next::Continue(self),
            Answer::Verdict(Verdict::Reject { reason, message }) => Decision::Reject { reason, message },
            Answer::Verdict(Verdict::Defer { reason, message, retry_after }) => {
                let retry_after = retry_after.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX);
                Decision::Defer { reason, message, retry_after }
            }
            Answer::Verdict(Verdict::Shortage(shortages)) => match shortages.into_iter().next() {
                Some(first) => {
                    self.shortage.get_or_insert(first);
                    return Next::Continue(self);
                }
                None => Decision::Reject {
                    reason: UNEXPECTED_ADMISSION_ERROR.to_owned(),
                    message: format!("Admission handler {handler} reports a shortage of nothing"),
                },
            },
            Answer::Failure { kind, message, policy } => match failed(handler, kind, &message, policy) {
                None => return Next::Continue(self),
                Some(decision) => decision,
            },
        };
        match decision {
            Decision::Defer { .. } if self.shortage.is_some() => Next::Continue(self),
            Decision::Admit
            | Decision::Reject { .. }
            | Decision::Preempt { .. }
            | Decision::Defer { .. } => Next::Decided(decision),
        }
    }

    /// Every handler was asked.
    pub fn finish(self) -> Decision {
        let Some(Shortage { resource, requested, used, capacity }) = self.shortage else {
            return Decision::Admit;
        };
        // Upstream's words (`lifecycle/predicate.go`), which dashboards and people know.
        let message = format!(
            "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
        );
        Decision::Reject { reason: format!("OutOf{resource}"), message }
    }
}

fn failed(handler: &str, kind: FailureKind, message: &str, policy: FailurePolicy) -> Option<Decision> {
    let message = format!("Admission handler {handler} {kind}: {message}");
    match policy {
        FailurePolicy::Admit => None,
        FailurePolicy::Reject => {
            Some(Decision::Reject { reason: UNEXPECTED_ADMISSION_ERROR.to_owned(), message })
        }
        FailurePolicy::Defer => Some(Decision::Defer {
            reason: kind.as_str().to_owned(),
            message,
            retry_after: RETRY_AFTER_FAILURE,
        }),
    }
}

#[cfg(test)]
mod tests;

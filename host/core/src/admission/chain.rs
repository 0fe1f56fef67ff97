//! What becomes of a pod when one handler after the other was asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use super::preemption::{is_lacking, may_preempt, victims};
use super::{AdmissionRequest, AdmittedPod, Decision, Shortage, Verdict};
use crate::node::NodeFacts;

/// No pod is asked for again sooner.
pub const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
/// A handler that asks for more is asked again after this much.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// When a pod is asked for again that waits because a handler failed that doesn't say when.
pub const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Upstream's reason for a pod that was refused because admission itself went wrong.
const UNEXPECTED_ADMISSION_ERROR: &str = "UnexpectedAdmissionError";

/// Before the resource in the reason of a pod for which the node lacks resources.
const SHORTAGE_REASON: &str = "OutOf";
/// Before the resource in its message.
const SHORTAGE_MESSAGE: &str = "Node didn't have enough resource: ";

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
    Trapped,
    /// It took longer than it may.
    TimedOut,
    /// It exceeded its memory limit.
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
            Self::BadAnswer => "returned an invalid result",
            Self::Failed => "failed",
            Self::NotLoaded => "is not ready",
            Self::Quarantined => "is quarantined",
            Self::Host => "could not be called",
        })
    }
}

/// What came of asking one handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerResponse {
    Verdict(Verdict),
    Failure {
        kind: FailureKind,
        /// One sentence for people.
        message: String,
        /// What it means for the pod.
        policy: FailurePolicy,
        /// When the handler thinks that another try makes sense, if it says so.
        retry_after: Option<Duration>,
    },
}

/// What to do after an answer.
#[derive(Clone, Debug)]
pub enum Next {
    /// Ask the next handler, or `finish` if there is none.
    Continue(Chain),
    /// No other answer can change this.
    Decided(Decision),
}

/// The answers so far. The first handler that refuses decides, in the handlers' order. For a critical pod a shortage of
/// resources refuses nothing yet: others are ended for it if they have what lacks and no other handler refuses it, and
/// only then. A pod that runs is ended by a rejection, and by nothing else that a handler answers or fails with.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Only a rejection counts.
    is_running: bool,
    /// Only of a pod that others may be ended for.
    candidate: Option<PreemptionCandidate>,
}

/// Where a critical pod's capacity may come from.
#[derive(Clone, Debug)]
struct PreemptionCandidate {
    pod: Arc<Pod>,
    others: Arc<[AdmittedPod]>,
    node: Arc<NodeFacts>,
    /// Of all handlers, in their order.
    shortages: Vec<SignedShortage>,
    /// The first handler's after a shortage.
    deferral: Option<Decision>,
}

/// What lacks, and who says so.
#[derive(Clone, Debug)]
struct SignedShortage {
    shortage: Shortage,
    by: Option<Arc<str>>,
}

impl SignedShortage {
    fn sign(&self, message: String) -> String {
        signed(message, self.by.as_deref())
    }
}

impl Chain {
    /// No one was asked yet.
    pub fn new(request: &AdmissionRequest) -> Self {
        let candidate = may_preempt(request).then(|| PreemptionCandidate {
            pod: request.pod.clone(),
            others: request.other_pods.clone(),
            node: request.node.clone(),
            shortages: Vec::new(),
            deferral: None,
        });
        Self { is_running: request.operation.is_of_running_pod(), candidate }
    }

    /// Takes the answer of the handler with this name. `by` says which component it is, behind messages that aren't the handler's own.
    pub fn answer(mut self, handler: &str, by: Option<&str>, answer: HandlerResponse) -> Next {
        if self.is_running && !matches!(answer, HandlerResponse::Verdict(Verdict::Reject { .. })) {
            return Next::Continue(self);
        }
        let decision = match answer {
            HandlerResponse::Verdict(Verdict::Admit) => return Next::Continue(self),
            HandlerResponse::Verdict(Verdict::Reject { reason, message }) => {
                Decision::Reject { reason, message, handler: None }
            }
            HandlerResponse::Verdict(Verdict::Defer { reason, message, retry_after }) => {
                let retry_after = retry_after.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX);
                Decision::Defer { reason, message, retry_after }
            }
            HandlerResponse::Verdict(Verdict::Shortage(shortages)) => {
                match (shortages.first(), &mut self.candidate) {
                    (Some(_), Some(candidate)) => {
                        let by: Option<Arc<str>> = by.map(Arc::from);
                        let signed = |shortage| SignedShortage { shortage, by: by.clone() };
                        candidate.shortages.extend(shortages.into_iter().map(signed));
                        return Next::Continue(self);
                    }
                    (Some(first), None) => out_of(first, by),
                    (None, _) => {
                        let message =
                            format!("Admission handler {handler} returned a shortage without resources");
                        unexpected(signed(message, by))
                    }
                }
            }
            HandlerResponse::Failure { kind, message, policy, retry_after } => {
                let message = signed(format!("Admission handler {handler} {kind}: {message}"), by);
                match failed(kind, message, policy, retry_after) {
                    None => return Next::Continue(self),
                    Some(decision) => decision,
                }
            }
        };
        match &mut self.candidate {
            // A pod that waits anyway preempts none; but it waits only if resources could be freed.
            Some(candidate)
                if !candidate.shortages.is_empty() && matches!(decision, Decision::Defer { .. }) =>
            {
                candidate.deferral.get_or_insert(decision);
                Next::Continue(self)
            }
            Some(_) | None => Next::Decided(decision),
        }
    }

    /// Every handler was asked.
    pub fn finish(self) -> Decision {
        self.candidate.map_or(Decision::Admit, PreemptionCandidate::decide)
    }
}

impl PreemptionCandidate {
    fn decide(self) -> Decision {
        let Some(first) = self.shortages.first() else { return Decision::Admit };
        let lacking = |signed: &SignedShortage| {
            is_lacking(&signed.shortage.resource, &self.pod, &self.others, &self.node.node)
        };
        if let Some(claimed) = self.shortages.iter().find(|signed| !lacking(signed)) {
            return out_of(&claimed.shortage, claimed.by.as_deref());
        }
        let shortages: Vec<Shortage> = self.shortages.iter().map(|signed| signed.shortage.clone()).collect();
        match victims(&self.pod, &self.others, &shortages) {
            Ok(victims) if victims.is_empty() => out_of(&first.shortage, first.by.as_deref()),
            Ok(victims) => self.deferral.unwrap_or_else(|| Decision::Preempt {
                message: first.sign(format!(
                    "Preempting {}: {}",
                    pods(victims.len()),
                    lacks(&first.shortage)
                )),
                resource: first.shortage.resource.clone(),
                victims,
            }),
            // Upstream's words (`lifecycle/predicate.go`).
            Err(not_enough) => unexpected(first.sign(format!(
                "Unexpected error while attempting to recover from admission failure: preemption: error finding a \
                 set of pods to preempt: {not_enough}"
            ))),
        }
    }
}

/// A message with who says it.
pub fn signed(message: String, by: Option<&str>) -> String {
    match (message.as_str(), by) {
        (_, None) => message,
        ("", Some(by)) => format!("({by})"),
        (message, Some(by)) => format!("{message} ({by})"),
    }
}

fn unexpected(message: String) -> Decision {
    Decision::Reject { reason: UNEXPECTED_ADMISSION_ERROR.to_owned(), message, handler: None }
}

fn out_of(shortage: &Shortage, by: Option<&str>) -> Decision {
    let reason = format!("{SHORTAGE_REASON}{}", shortage.resource);
    Decision::Reject { reason, message: signed(lacks(shortage), by), handler: None }
}

/// Whether a rejection says that the node lacks resources.
pub fn is_shortage(reason: &str, message: &str) -> bool {
    reason.starts_with(SHORTAGE_REASON) && message.starts_with(SHORTAGE_MESSAGE)
}

/// Upstream's words (`lifecycle/predicate.go`), which dashboards and people know.
pub(super) fn lacks(Shortage { resource, requested, used, capacity }: &Shortage) -> String {
    format!("{SHORTAGE_MESSAGE}{resource}, requested: {requested}, used: {used}, capacity: {capacity}")
}

fn pods(count: usize) -> String {
    format!("{count} pod{}", if count == 1 { "" } else { "s" })
}

fn failed(
    kind: FailureKind,
    message: String,
    policy: FailurePolicy,
    retry_after: Option<Duration>,
) -> Option<Decision> {
    match policy {
        FailurePolicy::Admit => None,
        FailurePolicy::Reject => Some(unexpected(message)),
        FailurePolicy::Defer => Some(Decision::Defer {
            reason: kind.as_str().to_owned(),
            message,
            retry_after: retry_after
                .map_or(RETRY_AFTER_FAILURE, |after| after.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX)),
        }),
    }
}

#[cfg(test)]
mod tests;

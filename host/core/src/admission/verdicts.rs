//! What each handler made of a pod when it was asked last, for people who check the pod.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::chain::{FailurePolicy, HandlerResponse, lacks};
use super::{Operation, Verdict};
use crate::text::shortened;

#[cfg(test)]
mod tests;

/// How many handlers are remembered of a pod.
pub const VERDICTS_MAX: usize = 64;

/// How many digits of a component's digest are shown to people.
const DIGEST_SHOWN: usize = 12;

/// Says which component of a plugin is meant, for those who are refused by it.
pub fn attribution(plugin: &str, digest: &str) -> String {
    format!("plugin {plugin}, sha256:{}", short_digest(digest))
}

/// The beginning of a component's digest that tells components apart for people; `witlet plugin list` shows as much.
pub fn short_digest(digest: &str) -> &str {
    digest.get(..DIGEST_SHOWN).unwrap_or(digest)
}

/// Bytes of a handler's words that are kept, reason and message each (the events API takes 1 KiB of a note).
const WORDS_BYTES_MAX: usize = 1024;

/// What a handler made of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum HandlerOutcome {
    /// Nothing was against it.
    Admitted,
    /// It may never run here.
    Rejected,
    Deferred,
    /// The node lacks resources for it.
    Shortage,
    /// The handler gave no verdict; its failure policy answered.
    Failed,
}

/// What one handler made of a pod when it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerVerdict {
    pub handler: Arc<str>,
    /// SHA-256 of the component that was asked, in hexadecimal; none if none was loaded.
    pub digest: Option<Arc<str>>,
    /// Why it was asked.
    pub operation: Operation,
    /// What came of it.
    pub outcome: HandlerOutcome,
    /// The handler's reason, or how it failed.
    pub reason: Option<String>,
    /// The handler's message, or what is known of the failure.
    pub message: Option<String>,
    /// What its failure means for the pod, if it failed.
    pub policy: Option<FailurePolicy>,
    /// When the pod was put to the handlers.
    pub asked_at: Timestamp,
    /// How long the answer took.
    pub took: Duration,
    /// What it said next to its verdict, if it said anything: most say nothing, and each pod has one verdict of each handler.
    remarks: Option<Box<Remarks>>,
}

/// What a handler says next to its verdict, bounded by its contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// For the pod's owner.
    pub warnings: Vec<String>,
    /// For the decision log.
    pub annotations: BTreeMap<String, String>,
}

impl HandlerVerdict {
    /// Converts a handler's answer to a question that was asked at this time.
    pub fn new(
        handler: Arc<str>,
        digest: Option<Arc<str>>,
        (operation, asked_at): (Operation, Timestamp),
        response: &HandlerResponse,
        took: Duration,
    ) -> Self {
        let (outcome, reason, message, policy) = match response {
            HandlerResponse::Verdict(Verdict::Admit) => (HandlerOutcome::Admitted, None, None, None),
            HandlerResponse::Verdict(Verdict::Reject { reason, message }) => {
                (HandlerOutcome::Rejected, Some(reason.clone()), Some(message.clone()), None)
            }
            HandlerResponse::Verdict(Verdict::Defer { reason, message, .. }) => {
                (HandlerOutcome::Deferred, Some(reason.clone()), Some(message.clone()), None)
            }
            HandlerResponse::Verdict(Verdict::Shortage(shortages)) => {
                let words: Vec<String> = shortages.iter().take(VERDICTS_MAX).map(lacks).collect();
                (HandlerOutcome::Shortage, None, Some(words.join("; ")), None)
            }
            HandlerResponse::Failure { kind, message, policy, retry_after: _ } => {
                let reason = kind.as_str().to_owned();
                (HandlerOutcome::Failed, Some(reason), Some(message.clone()), Some(*policy))
            }
        };
        let words = |text: Option<String>| text.map(|text| shortened(text, WORDS_BYTES_MAX));
        Self {
            handler,
            digest,
            operation,
            outcome,
            reason: words(reason),
            message: words(message),
            policy,
            asked_at,
            took,
            remarks: None,
        }
    }

    /// The same, with what the handler said next to it.
    pub fn with_remarks(self, remarks: Remarks) -> Self {
        let is_empty = remarks.warnings.is_empty() && remarks.annotations.is_empty();
        Self { remarks: (!is_empty).then(|| Box::new(remarks)), ..self }
    }

    /// Says which component was asked, as behind a refusal; none if none was loaded.
    pub fn attribution(&self) -> Option<String> {
        Some(attribution(&self.handler, self.digest.as_deref()?))
    }

    /// What it said next to its verdict.
    pub fn remarks(&self) -> &Remarks {
        const NONE: &Remarks = &Remarks { warnings: Vec::new(), annotations: BTreeMap::new() };
        self.remarks.as_deref().unwrap_or(NONE)
    }
}

/// The newest verdict of each handler: the new ones in their order, then those of handlers that weren't asked this time, of
/// which the ones asked longest ago are left out beyond the bound.
pub fn merged(kept: &[HandlerVerdict], new: Vec<HandlerVerdict>) -> Vec<HandlerVerdict> {
    let is_new = |old: &&HandlerVerdict| new.iter().any(|verdict| verdict.handler == old.handler);
    let mut older: Vec<HandlerVerdict> = kept.iter().filter(|old| !is_new(old)).cloned().collect();
    older.sort_by_key(|verdict| std::cmp::Reverse(verdict.asked_at));
    let mut all = new;
    all.extend(older);
    all.truncate(VERDICTS_MAX);
    all.shrink_to_fit();
    all
}

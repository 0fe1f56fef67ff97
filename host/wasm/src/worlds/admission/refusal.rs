//! Refusals as the host takes them, in all versions of the contract: one whose reason the contract doesn't allow stays a refusal,
//! with a reason made of it.

use std::time::Duration;

use witlet_core::admission::Verdict;

use super::{MESSAGE_BYTES_MAX, REASON_BYTES_MAX, Reply};
use crate::worlds::{check_word, sanitized_word, sentence};

/// The reason of a rejection whose own has no letter, and what stands before one that begins with a digit.
const REJECTED: &str = "Rejected";
/// The same of a deferral.
const DEFERRED: &str = "Deferred";

/// A rejection; its message is cut to its bound.
pub(super) fn rejection(reason: String, message: &str) -> Reply<Verdict> {
    let message = sentence(message, MESSAGE_BYTES_MAX);
    refusal(reason, REJECTED, |reason| Verdict::Reject { reason, message })
}

/// A deferral; its message is cut to its bound.
pub(super) fn deferral(reason: String, message: &str, retry_after: Duration) -> Reply<Verdict> {
    let message = sentence(message, MESSAGE_BYTES_MAX);
    refusal(reason, DEFERRED, |reason| Verdict::Defer { reason, message, retry_after })
}

fn refusal(reason: String, fallback: &str, verdict: impl FnOnce(String) -> Verdict) -> Reply<Verdict> {
    match check_word(&reason, REASON_BYTES_MAX) {
        Ok(()) => Reply::Answer(verdict(reason)),
        Err(fault) => {
            let reason = sanitized_word(&reason, fallback, REASON_BYTES_MAX);
            Reply::Sanitized { answer: verdict(reason), fault: fault.to_string() }
        }
    }
}

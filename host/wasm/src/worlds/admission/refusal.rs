//! Refusals as the host takes them, in all versions of the contract: one whose reason the contract doesn't allow stays a refusal,
//! with a reason made of it.

use std::time::Duration;

use thiserror::Error;
use witlet_core::admission::{Shortage, Verdict};

use super::answer::SHORTAGES_MAX;
use super::{MESSAGE_BYTES_MAX, REASON_BYTES_MAX, Reply};
use crate::worlds::{check_word, sanitized_word, sentence};

/// The reason of a rejection whose own has no letter, and what stands before one that begins with a digit.
const REJECTED: &str = "Rejected";
/// The same of a deferral.
const DEFERRED: &str = "Deferred";

/// Stands for a resource of whose name nothing can be shown.
const UNNAMED_RESOURCE: &str = "resource";

/// What the contract doesn't allow of shortages.
#[derive(Debug, PartialEq, Eq, Error)]
enum ShortageFault {
    #[error("the list of shortages is empty")]
    Empty,
    #[error("{0} shortages are more than {SHORTAGES_MAX}")]
    Many(usize),
    #[error("a shortage names no resource")]
    Unnamed,
    #[error("a shortage names a resource with {length} bytes, more than {REASON_BYTES_MAX}")]
    Long { length: usize },
    #[error("a shortage is of {0:?}, which is no resource's name")]
    NoResource(String),
}

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

/// Shortages. A list that is empty or too long isn't a text that could be another: nothing says what the pod would be refused for.
pub(super) fn shortages(shortages: Vec<Shortage>) -> Reply<Verdict> {
    if shortages.is_empty() {
        return Reply::Malformed(ShortageFault::Empty.to_string());
    }
    if shortages.len() > SHORTAGES_MAX {
        return Reply::Malformed(ShortageFault::Many(shortages.len()).to_string());
    }
    let fault = shortages.iter().find_map(|shortage| check_resource(&shortage.resource).err());
    let answer = Verdict::Shortage(shortages.into_iter().map(named).collect());
    match fault {
        None => Reply::Answer(answer),
        Some(fault) => Reply::Sanitized { answer, fault: fault.to_string() },
    }
}

/// Checks the resource: it becomes a part of `status.reason`, as words do.
fn check_resource(resource: &str) -> Result<(), ShortageFault> {
    match resource.len() {
        0 => Err(ShortageFault::Unnamed),
        length if length > REASON_BYTES_MAX => Err(ShortageFault::Long { length }),
        _ if resource.chars().all(is_name_letter) => Ok(()),
        _ => Err(ShortageFault::NoResource(resource.to_owned())),
    }
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/')
}

/// Of a name that is none the letters that names can have are left.
fn named(mut shortage: Shortage) -> Shortage {
    let resource = &mut shortage.resource;
    if check_resource(resource).is_err() {
        resource.retain(is_name_letter);
        resource.truncate(REASON_BYTES_MAX);
    }
    if resource.is_empty() {
        resource.push_str(UNNAMED_RESOURCE);
    }
    shortage
}

//! Between the host's vocabulary and `witlet:admission@0.2.0`'s.

use jiff::Timestamp;
use witlet_core::admission::Verdict;

use super::super::answer::{AnswerSink, Remarks, Statement};
use super::super::refusal::{deferral, rejection, shortages};
use super::super::values::since_epoch;
use super::super::{Answered, Reply};
use super::bindings::witlet::admission::admission_types as wit;
use crate::worlds::host::error::GuestError;
pub(super) use crate::worlds::maps::value;

/// Returns what a handler said, as the host takes it. A refusal stays one, whatever is wrong with its texts.
pub(super) fn answer(said: AnswerSink) -> Answered {
    let (statement, remarks) = said.finish();
    let reply = match statement {
        Ok(Statement::Admit) => Reply::Answer(Verdict::Admit),
        Ok(Statement::Reject { reason, message }) => rejection(reason, &message),
        Ok(Statement::Defer { reason, message, retry_after }) => deferral(reason, &message, retry_after),
        Ok(Statement::Shortages(list)) => shortages(list),
        Err(fault) => Reply::Malformed(fault),
    };
    Answered { reply, remarks }
}

/// An error takes the place of what was said.
pub(super) fn error(error: &GuestError) -> Answered {
    let remarks = Remarks { retry_after: error.retry_after, ..Remarks::default() };
    Answered { reply: Reply::Refusal(error.words()), remarks }
}

pub(super) fn datetime(now: Timestamp) -> wit::Datetime {
    let (seconds, nanoseconds) = since_epoch(now);
    wit::Datetime { seconds, nanoseconds }
}

/// The names of these together, sorted, each once.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = names.cloned().collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;

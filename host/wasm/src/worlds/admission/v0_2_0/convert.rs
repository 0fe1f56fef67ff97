//! Between the host's vocabulary and `witlet:admission@0.2.0`'s.

use std::collections::BTreeMap;

use jiff::Timestamp;
use witlet_core::admission::Verdict;
use witlet_core::pod::resources::Amounts;
use witlet_core::runtime::Protocol;

use super::super::answer::{AnswerSink, Remarks, Statement};
use super::super::refusal::{deferral, rejection, shortages};
use super::super::{Answered, Reply};
use super::bindings::witlet::admission::types as wit;
use crate::worlds::host::error::GuestError;

/// What a handler said, as the host takes it. A refusal stays one, whatever is wrong with its texts.
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

/// Seconds are rounded down, so that nanoseconds are never negative.
pub(super) fn datetime(now: Timestamp) -> wit::Datetime {
    let nanoseconds = now.as_nanosecond();
    wit::Datetime {
        seconds: i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
        nanoseconds: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
    }
}

pub(super) fn pairs(map: Option<&BTreeMap<String, String>>) -> Vec<(String, String)> {
    map.map(|map| map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()).unwrap_or_default()
}

pub(super) fn value(map: Option<&BTreeMap<String, String>>, key: &str) -> Option<String> {
    map.and_then(|map| map.get(key)).cloned()
}

/// The names of these together, sorted, each once.
pub(super) fn names<'a>(maps: impl IntoIterator<Item = &'a Amounts>) -> Vec<String> {
    let mut names: Vec<String> = maps.into_iter().flat_map(BTreeMap::keys).cloned().collect();
    names.sort();
    names.dedup();
    names
}

pub(super) fn protocol(protocol: Protocol) -> String {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
    .to_owned()
}

#[cfg(test)]
mod tests;

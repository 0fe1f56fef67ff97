//! Between the host's vocabulary and `witlet:pod-source@0.1.0`'s.

use std::time::Duration;

use witlet_core::sources::plugin::{PodNews, PodStatusChange, PollResponse, Snapshot, SourceFault};

use super::super::answer::{MANIFESTS_MAX, PollFault, check_cursor};
use super::super::{MESSAGE_BYTES_MAX, REASON_BYTES_MAX};
use super::bindings::exports::witlet::pod_source::source;
use super::bindings::witlet::pod_source::types as wit;
use crate::worlds::{sentence, word};

/// Returns what the source has or why it can't tell; or what is wrong with its answer.
pub(super) fn poll(
    answer: Result<source::PollResult, source::SourceError>,
) -> Result<Result<PollResponse, SourceFault>, PollFault> {
    match answer {
        Ok(wit::PollResult { snapshot, cursor, next_poll_milliseconds }) => {
            check_cursor(cursor.as_deref())?;
            let next_poll = next_poll_milliseconds.map(Duration::from_millis);
            Ok(Ok(PollResponse { snapshot: self::snapshot(snapshot)?, cursor, next_poll }))
        }
        Err(wit::SourceError { reason, message, retry_after_milliseconds }) => Ok(Err(SourceFault {
            reason: word(reason, REASON_BYTES_MAX)?,
            message: sentence(&message, MESSAGE_BYTES_MAX),
            retry_after: retry_after_milliseconds.map(Duration::from_millis),
        })),
    }
}

fn snapshot(snapshot: wit::Snapshot) -> Result<Snapshot, PollFault> {
    match snapshot {
        wit::Snapshot::Unchanged => Ok(Snapshot::Unchanged),
        wit::Snapshot::Empty => Ok(Snapshot::Empty),
        wit::Snapshot::Pods(pods) if pods.is_empty() => Err(PollFault::NoPods),
        wit::Snapshot::Pods(pods) if pods.len() > MANIFESTS_MAX => Err(PollFault::ManyPods(pods.len())),
        wit::Snapshot::Pods(pods) => Ok(Snapshot::Pods(pods)),
    }
}

/// A status; none of what the contract has no word for.
pub(super) fn status(news: &PodNews) -> Option<wit::PodStatus> {
    let PodNews::Status(PodStatusChange { namespace, name, uid, status }) = news else { return None };
    let (namespace, name) = (namespace.clone(), name.clone());
    Some(wit::PodStatus { namespace, name, uid: uid.clone(), status: status.clone() })
}

#[cfg(test)]
mod tests;

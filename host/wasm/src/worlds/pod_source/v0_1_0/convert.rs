//! Between the host's vocabulary and `witlet:pod-source@0.1.0`'s.

use std::time::Duration;

use thiserror::Error;
use witlet_core::sources::plugin::{PodStatusChange, PollResponse, Snapshot, SourceFault};

use super::super::{CURSOR_BYTES_MAX, MANIFESTS_MAX, MESSAGE_BYTES_MAX, REASON_BYTES_MAX};
use super::bindings::exports::witlet::pod_source::source;
use super::bindings::witlet::pod_source::types as wit;
use crate::worlds::{WordFault, sentence, word};

/// An answer that the contract doesn't allow.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum PollFault {
    /// Would end all pods if it were taken for `empty`.
    #[error("the list of pods is empty: a source without pods says so by `empty`")]
    NoPods,
    #[error("{0} manifests are more than {MANIFESTS_MAX}")]
    ManyPods(usize),
    #[error("the cursor has {0} bytes, more than {CURSOR_BYTES_MAX}")]
    LongCursor(usize),
    #[error(transparent)]
    Word(#[from] WordFault),
}

/// What the source has or why it can't tell; or what is wrong with its answer.
pub(super) fn poll(
    answer: Result<source::PollResult, source::SourceError>,
) -> Result<Result<PollResponse, SourceFault>, PollFault> {
    match answer {
        Ok(wit::PollResult { snapshot, cursor, next_poll_milliseconds }) => {
            if let Some(cursor) = &cursor
                && cursor.len() > CURSOR_BYTES_MAX
            {
                return Err(PollFault::LongCursor(cursor.len()));
            }
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

pub(super) fn status(change: PodStatusChange) -> wit::PodStatus {
    let PodStatusChange { namespace, name, uid, status } = change;
    wit::PodStatus { namespace, name, uid, status }
}

#[cfg(test)]
mod tests;

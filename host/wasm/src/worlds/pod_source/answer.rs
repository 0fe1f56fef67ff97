//! What a pod source says that it has, where it says that by calls: kept as it is said, judged at the end.

use std::time::Duration;

use thiserror::Error;
use witlet_core::sources::allow::SET_BYTES_MAX;
use witlet_core::sources::plugin::{PollResponse, Snapshot};

use crate::worlds::WordFault;
use crate::worlds::said::Said;

/// Longest cursor.
pub(crate) const CURSOR_BYTES_MAX: usize = 4 << 10;
/// How many manifests a source may give at once. What exceeds its allowance is another matter; this bounds the host.
pub(crate) const MANIFESTS_MAX: usize = 16 << 10;

/// What an answer can say.
const WORDS: &str = "pod, empty, unchanged";

/// An answer that the contract doesn't allow.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum PollFault {
    /// Would end all pods if it were taken for `empty`.
    #[error("the list of pods is empty: a source without pods says so by `empty`")]
    NoPods,
    #[error("{0} manifests are more than {MANIFESTS_MAX}")]
    ManyPods(usize),
    #[error("the manifests have more than {SET_BYTES_MAX} bytes together")]
    LargeSet,
    #[error("the cursor has {0} bytes, more than {CURSOR_BYTES_MAX}")]
    LongCursor(usize),
    #[error(transparent)]
    Word(#[from] WordFault),
    #[error("{0}")]
    NotSaid(String),
}

/// What was said.
#[derive(Debug)]
enum Statement {
    Pods,
    Empty,
    Unchanged,
}

/// Takes what a source says.
#[derive(Debug, Default)]
pub(crate) struct SourceSink {
    said: Said<Statement>,
    manifests: Vec<String>,
    /// How many there were, and how many bytes they had together; beyond the bounds none is kept.
    pods: usize,
    bytes: usize,
    cursor: Option<String>,
    next_poll: Option<Duration>,
}

impl SourceSink {
    /// One more pod.
    pub(super) fn pod(&mut self, manifest: String) {
        if self.pods == 0 {
            self.said.say("pod", Statement::Pods);
        }
        self.pods = self.pods.saturating_add(1);
        self.bytes = self.bytes.saturating_add(manifest.len());
        if self.pods <= MANIFESTS_MAX && self.bytes <= SET_BYTES_MAX {
            self.manifests.push(manifest);
        }
    }

    pub(super) fn empty(&mut self) {
        self.said.say("empty", Statement::Empty);
    }

    pub(super) fn unchanged(&mut self) {
        self.said.say("unchanged", Statement::Unchanged);
    }

    /// The last one counts.
    pub(super) fn set_cursor(&mut self, cursor: String) {
        self.cursor = Some(cursor);
    }

    /// The last one counts.
    pub(super) fn set_next_poll(&mut self, after: Duration) {
        self.next_poll = Some(after);
    }

    /// Returns what the source has, or what is wrong with its answer.
    pub(super) fn finish(self) -> Result<PollResponse, PollFault> {
        let Self { said, manifests, pods, bytes, cursor, next_poll } = self;
        let snapshot = match said.finish(WORDS).map_err(PollFault::NotSaid)? {
            Statement::Unchanged => Snapshot::Unchanged,
            Statement::Empty => Snapshot::Empty,
            Statement::Pods if pods > MANIFESTS_MAX => return Err(PollFault::ManyPods(pods)),
            Statement::Pods if bytes > SET_BYTES_MAX => return Err(PollFault::LargeSet),
            Statement::Pods => Snapshot::Pods(manifests),
        };
        check_cursor(cursor.as_deref())?;
        Ok(PollResponse { snapshot, cursor, next_poll })
    }
}

pub(super) fn check_cursor(cursor: Option<&str>) -> Result<(), PollFault> {
    match cursor.map(str::len) {
        Some(length) if length > CURSOR_BYTES_MAX => Err(PollFault::LongCursor(length)),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! The port that pods come in through.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::PodStatus;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::BackoffPolicy;
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::sources::SourceUpdate;

/// How many events of sources may wait for the event loop (upstream's config channel holds 50).
pub const SOURCE_EVENTS_MAX: usize = 50;

/// A source says something of its pods. One that can't tell says nothing.
#[derive(Clone, Debug)]
pub struct SourceEvent {
    pub source: SourceName,
    /// What it says: sources that read everything at once say sets, others tell of single pods.
    pub update: SourceUpdate,
}

/// Brings pods until it is stopped.
#[async_trait]
pub trait PodSource: Send {
    /// The name that its pods carry in `kubernetes.io/config.source`.
    fn name(&self) -> SourceName;

    /// Says what it has, and what changes. Returns when `stop` is cancelled or the receiver is gone.
    async fn run(self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken);
}

/// Sources that come and go while the agent runs: those of plugins.
#[async_trait]
pub trait PodSourceSet: Send + Sync {
    /// The sources that there are now. One that is added counts as unseen until its first set; pods of one that is gone
    /// end as if it had said that there are none.
    fn names(&self) -> watch::Receiver<Arc<BTreeSet<SourceName>>>;

    /// Says for all of them, under the name of each, what they have, until `stop` is cancelled or the receiver is gone.
    async fn run(self: Arc<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken);

    /// Returns those of them that want the statuses of their pods, now.
    fn listeners(&self) -> BTreeSet<SourceName>;

    /// Tells a source about pods whose status changed, each with its newest. Takes as long as the source does, within its
    /// deadline.
    async fn tell(&self, source: &SourceName, changed: Vec<PodStatusUpdate>)
    -> Result<(), SourceNotifyError>;
}

/// The status of one pod of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct PodStatusUpdate {
    /// With the node's name.
    pub full_name: PodFullName,
    /// As the agent knows it.
    pub uid: PodUid,
    /// None once the pod is gone.
    pub status: Option<Arc<PodStatus>>,
}

/// A source couldn't be notified.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct SourceNotifyError {
    pub message: String,
    /// When it is notified again.
    pub retry: NotifyRetry,
}

/// How long a source that took nothing is left alone, where its contract promises another try.
const NOTIFY_RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(1), max: Duration::from_secs(300) };
/// The longest time that a source may ask for.
const NOTIFY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// When a source is notified again of what it didn't take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyRetry {
    /// With the next change.
    WithNextChange,
    BackOff,
    /// After as long as it says, within bounds.
    After(Duration),
}

impl NotifyRetry {
    /// How long what failed so often in a row waits; none if that is for the next change.
    pub fn delay(self, failures: u32) -> Option<Duration> {
        match self {
            Self::WithNextChange => None,
            Self::BackOff => Some(NOTIFY_RETRY.after(failures)),
            Self::After(delay) => Some(delay.clamp(NOTIFY_RETRY.initial, NOTIFY_AFTER_MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    //! How long a source is left alone.

    use super::*;

    #[test]
    fn a_source_is_left_alone_within_bounds() {
        let seconds = |retry: NotifyRetry, failures| retry.delay(failures).map(|delay| delay.as_secs());
        let after = |delay| NotifyRetry::After(Duration::from_secs(delay));
        assert_eq!(seconds(NotifyRetry::WithNextChange, 7), None);
        let backed_off = [1, 2, 4, 40].map(|failures| seconds(NotifyRetry::BackOff, failures));
        assert_eq!(backed_off, [1, 2, 8, 300].map(Some));
        assert_eq!([0, 30, 1_000_000].map(|delay| seconds(after(delay), 1)), [1, 30, 3600].map(Some));
    }
}

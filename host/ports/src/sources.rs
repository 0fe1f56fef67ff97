//! The port that pods come in through.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::PodStatus;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::sources::SourceUpdate;

/// How many events of sources may wait for the event loop (upstream's config channel holds 50).
pub const SOURCE_EVENTS_MAX: usize = 50;

/// A source says something of its pods. One that can't tell says nothing.
#[derive(Clone, Debug)]
pub struct SourceEvent {
    /// Who says it.
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

    /// Those of them that want the statuses of their pods, now.
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

/// A source couldn't be notified; it is notified again with the next change.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct SourceNotifyError {
    /// One sentence.
    pub message: String,
}

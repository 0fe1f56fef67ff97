//! The port that pods come in through.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use witlet_core::pod::{PodFullName, PodUid, SourceName};

/// How many sets may wait for the event loop (upstream's config channel holds 50).
pub const SOURCE_SNAPSHOTS_MAX: usize = 50;

/// Everything that a source has now: always the full set, named, defaulted and validated. An empty set means that
/// there are no pods; a source that can't tell sends nothing.
#[derive(Clone, Debug)]
pub struct SourceSnapshot {
    /// Who sends it.
    pub source: SourceName,
    /// All pods of this source.
    pub pods: Vec<Arc<Pod>>,
    /// Whether nothing is missing from them. A source that can't read a part of what it has, and never could, says
    /// no: then pods that ran before the agent started, and that no source has, may be of that part and are left
    /// alone.
    pub complete: bool,
    /// Whether this is what the source had before the agent started, for it can't tell yet what it has. Such a set is run, but the
    /// source counts as unseen: nothing is cleaned up on its word (upstream had it as `RESTORE`).
    pub restored: bool,
}

/// Brings pods until it is told to stop.
#[async_trait]
pub trait PodSource: Send {
    /// The name that its pods carry in `kubernetes.io/config.source`.
    fn name(&self) -> SourceName;

    /// Sends a set when it has one and whenever it changes. Returns when `stop` is cancelled or nobody listens.
    async fn run(self: Box<Self>, snapshots: mpsc::Sender<SourceSnapshot>, stop: CancellationToken);
}

/// Sources that come and go while the agent runs: those of plugins.
#[async_trait]
pub trait PodSourceSet: Send + Sync {
    /// The sources that there are now. One that is added counts as unseen until its first set; pods of one that is gone
    /// end as if it had sent an empty set.
    fn names(&self) -> watch::Receiver<Arc<BTreeSet<SourceName>>>;

    /// Sends sets of all of them, each under its own name, until `stop` is cancelled or nobody listens.
    async fn run(self: Arc<Self>, snapshots: mpsc::Sender<SourceSnapshot>, stop: CancellationToken);

    /// Those of them that want to know how their pods fare, now.
    fn listeners(&self) -> BTreeSet<SourceName>;

    /// Tells a source about pods whose status changed, each with its newest. Takes as long as the source does, within its
    /// deadline.
    async fn tell(&self, source: &SourceName, changed: Vec<PodFare>) -> Result<(), NotTold>;
}

/// How one pod of a source fares.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFare {
    /// With the node's name.
    pub full_name: PodFullName,
    /// As the agent knows it.
    pub uid: PodUid,
    /// None once the pod is gone.
    pub status: Option<Arc<PodStatus>>,
}

/// A source couldn't be told; it is told again with the next change.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct NotTold {
    /// One sentence.
    pub message: String,
}

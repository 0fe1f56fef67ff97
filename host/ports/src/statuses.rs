//! The port that the agent's knowledge of pods leaves through: to the API server, or nowhere.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use witlet_core::pod::PodUid;

/// What the agent knows of one pod now.
#[derive(Clone, Debug, PartialEq)]
pub struct PodReport {
    /// As its source has it. A static pod's `metadata.uid` is the static one.
    pub pod: Arc<Pod>,
    /// The newest status that the agent made; none before the first.
    pub status: Option<Arc<PodStatus>>,
    /// Whether containers of it may run, now or later: a phase that ends the pod isn't reported before they don't (upstream:
    /// `PodCouldHaveRunningContainers`).
    pub may_run: bool,
    /// Whether all that the pod had on the node is gone, so that its object may go (upstream: `SyncTerminatedPod` is done).
    pub is_finished: bool,
    /// Whether it is to end, or has ended: nothing of it is started any more.
    pub is_ending: bool,
}

/// Receives the statuses of pods. Never blocks and never fails: of each pod it keeps the newest report.
pub trait StatusSink: Send + Sync {
    /// Something about the pod changed.
    fn report(&self, report: PodReport);

    /// The agent has nothing to do with the pod any more: no source has it, and nothing of it is left.
    fn forget(&self, uid: &PodUid);

    /// An image of the pod was pulled. Monitoring counts the pod's start without that time.
    fn pulled(&self, _uid: &PodUid, _from: Timestamp, _to: Timestamp) {}

    /// Whether every source of pods has been seen as a whole: before, one that wasn't reported may only not have been read yet.
    fn sources_seen(&self, _all: bool) {}
}

/// For a node without an API server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStatuses;

impl StatusSink for NoStatuses {
    fn report(&self, _: PodReport) {}

    fn forget(&self, _: &PodUid) {}
}

//! Removals of what ended pods have left.

use tokio::sync::oneshot;

/// Requests to remove what ended pods have left: one at most, for the eviction manager waits for each.
#[derive(Debug, Default)]
pub(super) struct EndedRemovals {
    /// For a clean-up that hasn't begun.
    pub(super) image_requested: Vec<oneshot::Sender<()>>,
    /// For the one that runs.
    pub(super) running: Vec<oneshot::Sender<()>>,
}

//! The UIDs that static pods run with already, read from the runtime before the first check of the manifests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use witlet_core::pod::static_pod::inherit::InheritedUids;
use witlet_ports::{PodView, StateStore};

#[cfg(test)]
mod tests;

/// The state file with the UIDs that were taken over.
pub const INHERITED_UIDS: &str = "static-pod-uids.json";
/// So long the runtime is waited for: until it answers nothing could be started either. Then manifests are read without it.
const RUNTIME_WAIT_MAX: Duration = Duration::from_secs(300);
/// It is asked this often.
const RUNTIME_RETRY: Duration = Duration::from_secs(1);

/// What static pods run with.
#[derive(Clone)]
pub(super) struct Inherited {
    pods: Arc<dyn PodView>,
    state: Arc<dyn StateStore>,
}

impl Inherited {
    pub(super) fn new(pods: Arc<dyn PodView>, state: Arc<dyn StateStore>) -> Self {
        Self { pods, state }
    }

    pub(super) async fn load(&self) -> InheritedUids {
        let began = Instant::now();
        let mut has_warned = false;
        let pods = loop {
            match self.pods.list_pods().await {
                Ok(pods) => break pods,
                Err(error) if began.elapsed() < RUNTIME_WAIT_MAX => {
                    if !std::mem::replace(&mut has_warned, true) {
                        tracing::warn!(%error, "Waiting for the runtime before reading static pods");
                    }
                    sleep(RUNTIME_RETRY).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "Reading static pods without the runtime; those that run under another UID restart");
                    break Arc::default();
                }
            }
        };
        let earlier = match self.state.load(INHERITED_UIDS).await {
            Ok(Some(page)) => serde_json::from_slice(&page).unwrap_or_else(|error| {
                tracing::warn!(%error, file = INHERITED_UIDS, "Failed to read inherited UIDs, ignoring them");
                BTreeMap::new()
            }),
            Ok(None) => BTreeMap::new(),
            Err(error) => {
                tracing::warn!(%error, file = INHERITED_UIDS, "Failed to read inherited UIDs, ignoring them");
                BTreeMap::new()
            }
        };
        InheritedUids::new(&pods, earlier)
    }

    pub(super) async fn save(&self, taken: &BTreeMap<String, String>) {
        let page = serde_json::to_vec(taken).unwrap_or_default();
        if let Err(error) = self.state.save(INHERITED_UIDS, &page).await {
            tracing::warn!(%error, "Failed to save inherited UIDs; static pods with changed files restart with the agent");
        }
    }
}

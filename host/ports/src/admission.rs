//! The port to the admission handlers.

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::admission::{AdmissionRequest, Decision};

/// The handlers of this node, in their order, with their failure policies applied.
#[async_trait]
pub trait Admission: Send + Sync {
    /// Asks every handler that concerns the pod. Never fails: a handler that does is answered for by its failure
    /// policy. Takes at most the sum of the handlers' deadlines.
    async fn admit(&self, request: AdmissionRequest) -> Decision;

    /// Changes whenever handlers were added, removed, replaced or recovered: deferred pods are then asked for
    /// again.
    fn generation(&self) -> watch::Receiver<u64>;
}

//! The port to the admission handlers.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::admission::verdicts::HandlerVerdict;
use witlet_core::admission::{AdmissionRequest, Decision, Operation};

/// A decision, and what each handler that was asked for it made of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionResult {
    /// What becomes of the pod.
    pub decision: Decision,
    /// The handlers' answers, in the order in which they were asked; empty if that isn't known.
    pub verdicts: Vec<HandlerVerdict>,
}

/// The handlers of this node, in their order, with their failure policies applied.
#[async_trait]
pub trait Admission: Send + Sync {
    /// Asks every handler that concerns the pod. Never fails: a handler that does is answered for by its failure
    /// policy. Takes at most the sum of the handlers' deadlines.
    async fn admit(&self, request: AdmissionRequest) -> Decision;

    /// The same, with the answer of each handler.
    async fn admit_with_verdicts(&self, request: AdmissionRequest) -> AdmissionResult {
        AdmissionResult { decision: self.admit(request).await, verdicts: Vec::new() }
    }

    /// Whether any handler may have something to say about this operation. Where none has, nothing has to be asked: the answer would
    /// be [`Decision::Admit`].
    fn answers(&self, operation: Operation) -> bool;

    /// How often running pods are to be put to the handlers again ([`Operation::Recheck`]): the shortest interval of those that want it,
    /// none if none does.
    fn recheck_interval(&self) -> Option<Duration> {
        None
    }

    /// Changes whenever handlers were added, removed, replaced or recovered: deferred pods are then asked for
    /// again.
    fn generation(&self) -> watch::Receiver<u64>;
}

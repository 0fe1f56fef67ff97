//! The port to the admission handlers.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::admission::readmit::HandlerNames;
use witlet_core::admission::recheck::RecheckIntervals;
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

    /// The same about a pod that runs, of these handlers alone.
    async fn recheck(&self, request: AdmissionRequest, _handlers: BTreeSet<Arc<str>>) -> AdmissionResult {
        self.admit_with_verdicts(request).await
    }

    /// Whether any handler may have something to say about this operation. Where none has, nothing has to be asked: the answer would
    /// be [`Decision::Admit`].
    fn answers(&self, operation: Operation) -> bool;

    /// How often each handler wants running pods to be put to it again ([`Operation::Recheck`]); empty if none does.
    fn recheck_intervals(&self) -> RecheckIntervals {
        RecheckIntervals::new()
    }

    /// The handlers that want to be asked about pods that ran before the agent's start ([`Operation::Readmit`]), as far as they are loaded.
    fn readmit_handlers(&self) -> HandlerNames {
        HandlerNames::new()
    }

    /// Changes whenever handlers were added, removed, replaced or recovered: deferred pods are then asked for
    /// again.
    fn generation(&self) -> watch::Receiver<u64>;
}

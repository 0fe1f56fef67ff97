//! Decided requests that wait for shadows.

use std::sync::Arc;

use tokio::sync::mpsc;
use witlet_core::admission::{Decision, Verdict};

use crate::plugin::{MatchSubject, Plugin};
use crate::worlds::admission::facts::RequestFacts;

/// Decided requests that shadows may still be asked about; while there are as many, others are skipped.
const QUEUE_MAX: usize = 64;

/// A request that was decided.
pub(super) struct DecidedRequest {
    pub(super) facts: Arc<RequestFacts>,
    pub(super) subject: MatchSubject,
    pub(super) decision: Decision,
    /// The set that decided, with its shadows.
    pub(super) plugins: Arc<[Arc<Plugin>]>,
    /// Handlers that are compared with another one: they take its place and didn't judge, or are its shadows.
    pub(super) compared: Vec<ComparedHandler>,
}

/// A handler that is asked after the one that it is compared with.
pub(super) struct ComparedHandler {
    pub(super) plugin: Arc<Plugin>,
    /// What that one said.
    pub(super) verdict: Verdict,
}

impl DecidedRequest {
    pub(super) fn shadows(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins
            .iter()
            .filter(|plugin| plugin.spec.is_compared_with_node() && plugin.is_asked(&self.subject))
    }
}

/// Where decided requests go.
pub(super) struct ShadowQueue(mpsc::Sender<DecidedRequest>);

/// The queue and its end.
pub(super) fn queue() -> (ShadowQueue, mpsc::Receiver<DecidedRequest>) {
    let (sender, receiver) = mpsc::channel(QUEUE_MAX);
    (ShadowQueue(sender), receiver)
}

impl ShadowQueue {
    /// Never waits: what doesn't fit is skipped, and counted.
    pub(super) fn push(&self, request: DecidedRequest) {
        if let Err(error) = self.0.try_send(request) {
            let request = error.into_inner();
            let compared = request.compared.iter().map(|compared| &compared.plugin);
            for plugin in request.shadows().chain(compared) {
                plugin.shadow_skipped();
            }
        }
    }
}

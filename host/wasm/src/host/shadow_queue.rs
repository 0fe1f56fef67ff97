//! Decided requests that wait for shadows.

use std::sync::Arc;

use tokio::sync::mpsc;
use witlet_core::admission::Decision;

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
}

impl DecidedRequest {
    pub(super) fn shadows(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins.iter().filter(|plugin| plugin.spec.is_shadow() && plugin.is_asked(&self.subject))
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
    /// Never waits: what there is no room for is skipped, and counted.
    pub(super) fn push(&self, request: DecidedRequest) {
        if let Err(error) = self.0.try_send(request) {
            for plugin in error.into_inner().shadows() {
                plugin.shadow().skipped();
            }
        }
    }
}

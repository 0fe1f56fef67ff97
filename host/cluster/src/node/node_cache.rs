//! What is known of the node's own object: the newest of what is watched and what our own requests answered.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_core::reflector::Initial;
use witlet_ports::Jitter;

use crate::watch::{self as reflector, Change, Selection};

#[cfg(test)]
mod tests;

/// The newest object; none while it isn't known or doesn't exist.
#[derive(Debug, Default)]
pub(super) struct NodeCache(watch::Sender<Option<Arc<Node>>>);

impl NodeCache {
    pub(super) fn watch(&self) -> watch::Receiver<Option<Arc<Node>>> {
        self.0.subscribe()
    }

    pub(super) fn current(&self) -> Option<Arc<Node>> {
        self.0.borrow().clone()
    }

    /// Stores the object, unless a newer version of it is known.
    pub(super) fn put(&self, mut node: Node) {
        node.metadata.managed_fields = None;
        self.put_shared(Arc::new(node));
    }

    fn put_shared(&self, node: Arc<Node>) {
        self.0.send_if_modified(|known| {
            let is_news = known.as_ref().is_none_or(|known| is_newer(&node, known));
            if is_news {
                *known = Some(node);
            }
            is_news
        });
    }

    fn listed(&self, node: Arc<Node>) {
        self.0.send_if_modified(|known| {
            let is_news = known.as_ref() != Some(&node);
            if is_news {
                *known = Some(node);
            }
            is_news
        });
    }

    /// There is none.
    pub(super) fn gone(&self) {
        self.0.send_if_modified(|known| known.take().is_some());
    }

    /// The object with this UID is gone.
    fn deleted(&self, uid: &str) {
        self.0.send_if_modified(|known| {
            let is_it = known
                .as_ref()
                .is_some_and(|node| uid.is_empty() || node.metadata.uid.as_deref() == Some(uid));
            is_it && known.take().is_some()
        });
    }

    /// Watches the object until `stop` is cancelled.
    pub(super) async fn follow(
        &self,
        client: &kube::Client,
        name: &str,
        jitter: &dyn Jitter,
        stop: &CancellationToken,
    ) {
        let fields = Some(format!("metadata.name={name}"));
        let selection = Selection { namespace: None, fields, initial: Initial::Pages };
        reflector::run(client, &selection, jitter, stop, |change| self.apply(change)).await;
    }

    fn apply(&self, change: Change<Node>) {
        match change {
            Change::Replaced { objects, malformed } => match objects.into_iter().next() {
                // What a list says is so, also where its version is an older one: after a restore of the server's storage.
                Some(node) => self.listed(node),
                // One that can't be read is there.
                None if malformed.is_empty() => self.gone(),
                None => {}
            },
            Change::Put(node) => self.put_shared(node),
            Change::Deleted(key) => self.deleted(&key.uid),
            Change::Malformed(malformed) => {
                tracing::warn!(error = malformed.message, "Failed to decode node");
            }
            Change::Unread(unread) => unread.warn("the node's object"),
            Change::Disconnected(_) | Change::Connected => {}
        }
    }
}

/// Versions of one object are numbers that grow; an object with another UID took its place.
fn is_newer(node: &Node, known: &Node) -> bool {
    if node.metadata.uid != known.metadata.uid {
        return true;
    }
    let version = |node: &Node| node.metadata.resource_version.as_deref().and_then(|v| v.parse::<u64>().ok());
    match (version(node), version(known)) {
        (Some(new), Some(old)) => new > old,
        _ => node != known,
    }
}

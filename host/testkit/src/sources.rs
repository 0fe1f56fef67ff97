//! A source of pods that a test holds the other end of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use witlet_core::pod::static_pod::{Origin, adopt};
use witlet_core::pod::{SourceName, defaults};
use witlet_ports::{PodSource, SourceSnapshot};

/// The manifests that a source shows, by place. None while it can't tell.
type Manifests = Option<BTreeMap<String, Vec<Arc<Pod>>>>;

/// What a test writes to.
#[derive(Clone, Debug)]
pub struct SourceHandle {
    node_name: String,
    name: SourceName,
    manifests: watch::Sender<Manifests>,
    complete: Arc<AtomicBool>,
}

/// Sends what its handle shows, like the source of files: pods are adopted and defaulted.
#[derive(Debug)]
pub struct FakeSource {
    name: SourceName,
    manifests: watch::Receiver<Manifests>,
    complete: Arc<AtomicBool>,
}

impl SourceHandle {
    /// A source that hasn't spoken yet.
    pub fn new(name: &str, node_name: &str) -> Self {
        let manifests = watch::Sender::new(None);
        let complete = Arc::new(AtomicBool::new(true));
        Self { node_name: node_name.to_owned(), name: SourceName::from(name), manifests, complete }
    }

    /// The end that an agent takes. Each agent takes a new one.
    pub fn source(&self) -> Box<dyn PodSource> {
        let mut manifests = self.manifests.subscribe();
        manifests.mark_changed();
        Box::new(FakeSource { name: self.name.clone(), manifests, complete: self.complete.clone() })
    }

    /// Says whether there is a part of it that could never be read.
    pub fn set_complete(&self, complete: bool) {
        self.complete.store(complete, Ordering::Relaxed);
        self.manifests.send_modify(|_| {});
    }

    /// Says that there is what there is, be it nothing.
    pub fn speak(&self) {
        self.manifests.send_modify(|manifests| {
            manifests.get_or_insert_default();
        });
    }

    /// Writes the pods to a place, instead of what was there.
    pub fn put(&self, place: &str, pods: Vec<Pod>) {
        let origin = Origin { source: &self.name, place, node_name: &self.node_name };
        let adopted = pods
            .into_iter()
            .map(|pod| {
                let mut pod = adopt(pod, origin);
                defaults::apply(&mut pod);
                Arc::new(pod)
            })
            .collect();
        self.manifests.send_modify(|manifests| {
            manifests.get_or_insert_default().insert(place.to_owned(), adopted);
        });
    }

    /// Writes pods to a place as an API server would have them: with their own UIDs, deletions and statuses.
    pub fn put_as_is(&self, place: &str, pods: Vec<Pod>) {
        let pods = pods.into_iter().map(Arc::new).collect();
        self.manifests.send_modify(|manifests| {
            manifests.get_or_insert_default().insert(place.to_owned(), pods);
        });
    }

    /// Removes what is at a place.
    pub fn remove(&self, place: &str) {
        self.manifests.send_modify(|manifests| {
            manifests.get_or_insert_default().remove(place);
        });
    }
}

#[async_trait]
impl PodSource for FakeSource {
    fn name(&self) -> SourceName {
        self.name.clone()
    }

    async fn run(mut self: Box<Self>, snapshots: mpsc::Sender<SourceSnapshot>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = self.manifests.changed() => if changed.is_err() { return },
            }
            let pods =
                self.manifests.borrow_and_update().as_ref().map(|m| m.values().flatten().cloned().collect());
            let Some(pods) = pods else { continue };
            let complete = self.complete.load(Ordering::Relaxed);
            let snapshot = SourceSnapshot { source: self.name.clone(), pods, complete };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                sent = snapshots.send(snapshot) => if sent.is_err() { return },
            }
        }
    }
}

//! A source of pods that a test holds the other end of.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::static_pod::{Origin, adopt};
use witlet_core::pod::{SourceName, defaults};
use witlet_core::sources::SourceUpdate;
use witlet_ports::{PodSource, PodSourceSet, PodStatusUpdate, SourceEvent, SourceNotifyError};

/// The manifests that a source shows, by place. None while it can't tell.
type Manifests = Option<BTreeMap<String, Vec<Arc<Pod>>>>;

/// What a test writes to.
#[derive(Clone, Debug)]
pub struct SourceHandle {
    node_name: String,
    name: SourceName,
    manifests: watch::Sender<Manifests>,
    complete: Arc<AtomicBool>,
    restored: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
}

/// Sends what its handle shows, like the source of files: pods are adopted and defaulted.
#[derive(Debug)]
pub struct FakeSource {
    name: SourceName,
    manifests: watch::Receiver<Manifests>,
    complete: Arc<AtomicBool>,
    restored: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
}

impl SourceHandle {
    /// A source that hasn't spoken yet.
    pub fn new(name: &str, node_name: &str) -> Self {
        let manifests = watch::Sender::new(None);
        let complete = Arc::new(AtomicBool::new(true));
        let (node_name, name) = (node_name.to_owned(), SourceName::from(name));
        Self { node_name, name, manifests, complete, restored: Arc::default(), ends: Arc::default() }
    }

    /// The end that an agent takes. Each agent takes a new one.
    pub fn source(&self) -> Box<dyn PodSource> {
        let mut manifests = self.manifests.subscribe();
        manifests.mark_changed();
        let (complete, restored, ends) = (self.complete.clone(), self.restored.clone(), self.ends.clone());
        Box::new(FakeSource { name: self.name.clone(), manifests, complete, restored, ends })
    }

    /// The source ends, which no source should.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.manifests.send_modify(|_| {});
    }

    /// Says whether there is a part of it that could never be read.
    pub fn set_complete(&self, complete: bool) {
        self.complete.store(complete, Ordering::Relaxed);
        self.manifests.send_modify(|_| {});
    }

    /// Says whether what it has is from before the agent's start.
    pub fn set_restored(&self, restored: bool) {
        self.restored.store(restored, Ordering::Relaxed);
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

    async fn run(mut self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = self.manifests.changed() => if changed.is_err() {
                    // The other end is gone.
                    return stop.cancelled().await;
                },
            }
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            let pods =
                self.manifests.borrow_and_update().as_ref().map(|m| m.values().flatten().cloned().collect());
            let Some(pods) = pods else { continue };
            let complete = self.complete.load(Ordering::Relaxed);
            let restored = self.restored.load(Ordering::Relaxed);
            let update = match restored {
                true => SourceUpdate::Restored(pods),
                false => {
                    SourceUpdate::Replaced { pods, incomplete: (!complete).then(|| "unread".to_owned()) }
                }
            };
            let event = SourceEvent { source: self.name.clone(), update };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                sent = events.send(event) => if sent.is_err() { return },
            }
        }
    }
}

/// Statuses that a fake set of sources got: source, then `name: phase` of each pod; `name: gone` for one that is.
type ReportedStatuses = Vec<(SourceName, Vec<String>)>;

/// Sources of plugins, which a test adds and removes while the agent runs.
#[derive(Debug)]
pub struct FakeSourceSet {
    node_name: String,
    names: watch::Sender<Arc<BTreeSet<SourceName>>>,
    handles: Mutex<BTreeMap<SourceName, SourceHandle>>,
    listeners: Mutex<BTreeSet<SourceName>>,
    reported: Mutex<ReportedStatuses>,
    ends: AtomicBool,
}

impl FakeSourceSet {
    /// A set without sources.
    pub fn new(node_name: &str) -> Self {
        Self {
            node_name: node_name.to_owned(),
            names: watch::Sender::default(),
            handles: Mutex::default(),
            listeners: Mutex::default(),
            reported: Mutex::default(),
            ends: AtomicBool::default(),
        }
    }

    /// Adds a source, which hasn't spoken yet.
    pub fn add(&self, name: &str) -> SourceHandle {
        let handle = SourceHandle::new(name, &self.node_name);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), handle.clone());
        self.names.send_modify(|names| {
            Arc::make_mut(names).insert(name.into());
        });
        handle
    }

    /// Removes a source.
    pub fn remove(&self, name: &str) {
        let name = SourceName::from(name);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        self.names.send_modify(|names| {
            Arc::make_mut(names).remove(&name);
        });
    }

    /// The task of all sources ends, which it shouldn't.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.names.send_modify(|_| {});
    }

    /// The source wants the statuses of its pods.
    pub fn listen(&self, name: &str) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into());
    }

    /// It takes none from now on, as while its plugin isn't loaded.
    pub fn stop_listening(&self, name: &str) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(&SourceName::from(name));
    }

    /// What the sources got so far; then forgets it.
    pub fn take_reported(&self) -> ReportedStatuses {
        std::mem::take(&mut *self.reported.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl PodSourceSet for FakeSourceSet {
    fn names(&self) -> watch::Receiver<Arc<BTreeSet<SourceName>>> {
        self.names.subscribe()
    }

    async fn run(self: Arc<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let mut names = self.names.subscribe();
        let mut running: BTreeMap<SourceName, CancellationToken> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        loop {
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            let now = names.borrow_and_update().clone();
            for (_, gone) in running.extract_if(.., |name, _| !now.contains(name)) {
                gone.cancel();
            }
            let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (name, handle) in handles.into_iter().filter(|(name, _)| now.contains(name)) {
                if let Entry::Vacant(place) = running.entry(name) {
                    let token = place.insert(stop.child_token()).clone();
                    tasks.spawn(handle.source().run(events.clone(), token));
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = names.changed() => if changed.is_err() { return },
                Some(_) = tasks.join_next() => {}
            }
        }
    }

    fn listeners(&self) -> BTreeSet<SourceName> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn tell(
        &self,
        source: &SourceName,
        changed: Vec<PodStatusUpdate>,
    ) -> Result<(), SourceNotifyError> {
        let words = |update: &PodStatusUpdate| {
            let phase = update.status.as_ref().and_then(|status| status.phase.clone());
            format!("{}: {}", update.full_name.name, phase.unwrap_or_else(|| "gone".to_owned()))
        };
        let reported = (source.clone(), changed.iter().map(words).collect());
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).push(reported);
        Ok(())
    }
}

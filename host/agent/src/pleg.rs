//! The pod lifecycle event generator: asks the runtime what it has, each second for all pods and on demand for one,
//! keeps the cache fresh, and tells the loop what changed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::pleg::{PlegEvent, PlegSubject, diff};
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ListedContainer, ListedSandbox, ObservedPod, RuntimePod, SandboxId};
use witlet_ports::Clock;

use crate::cache::{PodCache, Stamp};
use crate::metrics::RelistMetrics;
use crate::settings::{INSPECTIONS_MAX, RELIST_REQUESTS_MAX};
use crate::tasks::ticker;

#[cfg(test)]
pub(crate) mod fixture;
mod inspect;
mod runtime_events;
#[cfg(test)]
mod tests;

pub(crate) use inspect::Inspector;
pub(crate) use runtime_events::RuntimeEvents;

/// An event as a kubelet logs it: the pod's UID, what happened, and the ID of the container or sandbox.
pub(crate) fn logged(event: &PlegEvent) -> String {
    let id = match &event.subject {
        PlegSubject::Container(id) => Some(id.as_str()),
        PlegSubject::Sandbox(id) => Some(id.as_str()),
        PlegSubject::Pod => None,
    };
    let (uid, kind) = (json!(event.uid.as_str()), event.kind);
    format!(r#"{{"ID":{uid},"Type":"{kind:?}","Data":{}}}"#, json!(id))
}

/// The last list of all pods, and the outcome of listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relisted {
    /// When the last successful list was begun; none before the first.
    pub(crate) at: Option<Instant>,
    /// All pods of the runtime as of then.
    pub(crate) pods: Arc<Vec<RuntimePod>>,
    /// Why no newer list could be had, if one was asked for since.
    pub(crate) failure: Option<String>,
}

/// Asks for a check of one pod soon. Dropped if too many are waiting: the next list shows it.
#[derive(Clone, Debug)]
pub(crate) struct RelistRequests(mpsc::Sender<PodUid>);

impl RelistRequests {
    pub(crate) fn channel() -> (Self, mpsc::Receiver<PodUid>) {
        let (sender, receiver) = mpsc::channel(RELIST_REQUESTS_MAX);
        (Self(sender), receiver)
    }

    pub(crate) fn request(&self, uid: &PodUid) {
        // A full queue or a stopped agent: in both cases waiting helps no one.
        drop(self.0.try_send(uid.clone()));
    }
}

/// The generator's state.
pub(crate) struct Pleg {
    pub(crate) inspector: Inspector,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: mpsc::Sender<PlegEvent>,
    /// Counts events that were dropped because the event loop's queue was full.
    pub(crate) dropped: Arc<AtomicU64>,
    pub(crate) relisted: watch::Sender<Relisted>,
    pub(crate) metrics: Arc<RelistMetrics>,
    /// Whether the last list failed.
    failing: bool,
    known: HashMap<PodUid, RuntimePod>,
    /// The list that says what is known; none if more is known by now, or less.
    in_line: Option<Arc<Vec<RuntimePod>>>,
    /// Pods that could not be checked: tried again at the next list.
    reinspect: BTreeSet<PodUid>,
}

impl Pleg {
    pub(crate) fn new(
        inspector: Inspector,
        clock: Arc<dyn Clock>,
        events: mpsc::Sender<PlegEvent>,
        relisted: watch::Sender<Relisted>,
    ) -> Self {
        Self {
            cache: inspector.cache.clone(),
            inspector,
            clock,
            events,
            dropped: Arc::default(),
            relisted,
            metrics: Arc::default(),
            failing: false,
            known: HashMap::new(),
            in_line: None,
            reinspect: BTreeSet::new(),
        }
    }

    /// Runs until `stop`.
    pub(crate) async fn run(
        mut self,
        period: Duration,
        mut requests: mpsc::Receiver<PodUid>,
        stop: CancellationToken,
    ) {
        let mut ticks = ticker(period);
        ticks.reset_immediately();
        let mut asked = Vec::with_capacity(RELIST_REQUESTS_MAX);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
                _ = requests.recv_many(&mut asked, RELIST_REQUESTS_MAX) => {}
            }
            let inspection = async {
                if asked.is_empty() {
                    self.relist().await;
                } else {
                    self.inspect_pods(asked.drain(..).collect()).await;
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = inspection => {}
            }
        }
    }

    /// Lists all pods and checks those that changed.
    async fn relist(&mut self) {
        let begun = Instant::now();
        let last = self.relisted.borrow().at;
        if let Some(last) = last {
            self.metrics.begun(begun.duration_since(last));
        }
        self.list(begun).await;
        self.metrics.ended(begun.elapsed());
    }

    async fn list(&mut self, begun: Instant) {
        let stamp = self.cache.stamp();
        let now = self.clock.now();
        let pods = match self.inspector.view.list_pods().await {
            Ok(pods) => pods,
            Err(error) => {
                // No one who waits for a list has one.
                self.relisted.send_if_modified(|last| {
                    last.failure = Some(error.status_text());
                    false
                });
                // Once, not each second: the node's condition says for how long.
                if std::mem::replace(&mut self.failing, true) {
                    tracing::debug!(%error, "Failed to list pods of the runtime again");
                } else {
                    tracing::warn!(%error, "Failed to list pods of the runtime, retrying");
                }
                return;
            }
        };
        if std::mem::replace(&mut self.failing, false) {
            tracing::info!("Listed pods of the runtime again");
        }
        if !self.in_line.as_ref().is_some_and(|last| Arc::ptr_eq(last, &pods)) {
            self.compare(&pods, stamp).await;
            self.in_line = self.reinspect.is_empty().then(|| pods.clone());
        }
        self.cache.listed(stamp, now, |uid| self.known.contains_key(uid) || self.reinspect.contains(uid));
        self.metrics.listed(now, pods.clone());
        self.relisted.send_replace(Relisted { at: Some(begun), pods, failure: None });
    }

    /// Checks the pods of a list that aren't as they were known.
    async fn compare(&mut self, pods: &[RuntimePod], stamp: Stamp) {
        let listed: HashSet<&PodUid> = pods.iter().map(|pod| &pod.uid).collect();
        let gone: Vec<PodUid> = self.known.keys().filter(|uid| !listed.contains(uid)).cloned().collect();
        for uid in gone {
            let events = diff(self.known.get(&uid), None);
            self.cache.remove(&uid, stamp);
            self.known.remove(&uid);
            self.reinspect.remove(&uid);
            self.send(events);
        }
        let again = std::mem::take(&mut self.reinspect);
        let changed: Vec<(&RuntimePod, Vec<PlegEvent>)> = pods
            .iter()
            .map(|pod| (pod, diff(self.known.get(&pod.uid), Some(pod))))
            .filter(|(pod, events)| !events.is_empty() || again.contains(&pod.uid))
            .collect();
        let inspected = self.inspect(changed.iter().map(|(pod, _)| pod.uid.clone()).collect()).await;
        let failed: HashSet<PodUid> =
            inspected.into_iter().filter(|(_, failed)| *failed).map(|(uid, _)| uid).collect();
        for (pod, events) in changed {
            if failed.contains(&pod.uid) {
                // The old record stays, so that the next list finds the same changes.
                self.reinspect.insert(pod.uid.clone());
                continue;
            }
            let events = if events.is_empty() { vec![PlegEvent::pod_sync(pod.uid.clone())] } else { events };
            self.known.insert(pod.uid.clone(), pod.clone());
            self.send(events);
        }
    }

    /// Checks some pods without a list of all.
    async fn inspect_pods(&mut self, uids: BTreeSet<PodUid>) {
        self.in_line = None;
        let asked: Vec<PodUid> = uids.into_iter().collect();
        for (uid, failed) in self.inspect(asked).await {
            if failed {
                self.reinspect.insert(uid);
                continue;
            }
            self.reinspect.remove(&uid);
            let Some(seen) = self.cache.peek(&uid) else { continue };
            let new = listed(&seen);
            let old = self.known.get(&uid);
            let events = diff(old, new.as_ref());
            match new {
                Some(new) => self.known.insert(uid.clone(), new),
                None => self.known.remove(&uid),
            };
            self.send(events);
        }
    }

    /// Checks closely at pods, several at the same time, and puts what is seen into the cache. Says of each whether
    /// that failed.
    async fn inspect(&self, uids: Vec<PodUid>) -> Vec<(PodUid, bool)> {
        let inspections = uids.into_iter().map(|uid| async move {
            let begun = Instant::now();
            let inspection = self.inspector.inspect(&uid).await;
            self.metrics.inspected(begun.elapsed());
            if let Err(error) = &inspection {
                tracing::warn!(pod_uid = %uid, %error, "Failed to inspect pod");
            }
            (uid, inspection.is_err())
        });
        stream::iter(inspections).buffer_unordered(INSPECTIONS_MAX).collect().await
    }

    fn send(&self, events: Vec<PlegEvent>) {
        for event in events {
            if self.events.try_send(event).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Returns what a list would show of a pod that was checked; none if the runtime has nothing of it.
fn listed(pod: &ObservedPod) -> Option<RuntimePod> {
    if pod.is_absent() {
        return None;
    }
    Some(RuntimePod {
        uid: pod.uid.clone(),
        name: pod.name.clone(),
        namespace: pod.namespace.clone(),
        sandboxes: pod
            .sandboxes
            .iter()
            .map(|s| ListedSandbox {
                id: s.id.clone(),
                attempt: s.attempt,
                state: s.state,
                created_at: s.created_at,
            })
            .collect(),
        containers: pod
            .containers
            .iter()
            .map(|c| ListedContainer {
                id: c.id.clone(),
                name: c.name.clone(),
                // Only its difference to other sandboxes matters to a diff, which doesn't check it.
                sandbox_id: c.sandbox_id.clone().unwrap_or_else(|| SandboxId::from("")),
                state: c.state,
                created_at: c.created_at,
            })
            .collect(),
    })
}

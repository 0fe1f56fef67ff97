//! Pods of this node, from the API server: the source named `api`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Notify, mpsc, watch as channel};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject};
use witlet_core::node::conditions::{UnreadSource, source_message};
use witlet_core::pod::static_pod::{first_seen, is_mirror};
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::reflector::Initial;
use witlet_core::sources::SourceUpdate;
use witlet_ports::{Clock, EventSink, Jitter, PodSource, SourceEvent, SourceHealth};

use crate::saved::{Outdated, SavedPods};
use crate::watch::{self, Change, Malformed, ObjectKey, Selection, Unread};

pub use cache::KnownPods;
use store::PodStore;

mod cache;
mod shrink;
mod stamp;
mod store;
#[cfg(test)]
mod tests;

/// The source's name.
pub const API_SOURCE: &str = "api";
/// How many changes may wait for the agent. If there are more, it gets all pods again.
const OUTBOX_MAX: usize = 4096;

/// Mirror pods by their names, which are the static pods' names.
pub type Mirrors = Arc<BTreeMap<PodFullName, Arc<Pod>>>;
/// The newest mirror pods by full name.
pub type MirrorPods = channel::Receiver<Mirrors>;

/// Brings the pods that are bound to this node.
///
/// An object that can't be read leaves the pod as it was. At its start the source says what it had before; once the API server
/// was read it reports all pods, and from then on of each that changes. Upstream waits for the node object before it reads pods, for it
/// admits pods by it; here the admission has a node of its own at any time.
pub struct ApiPods {
    client: kube::Client,
    node_name: String,
    saved: Option<SavedPods>,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    events: Option<Arc<dyn EventSink>>,
    health: Arc<SourceHealth>,
    known: Arc<KnownPods>,
    mirrors: channel::Sender<Mirrors>,
}

impl ApiPods {
    /// Creates the source of the node with this name. Without `saved` nothing is remembered over a restart.
    pub fn new(
        client: kube::Client,
        node_name: &str,
        saved: Option<SavedPods>,
        clock: Arc<dyn Clock>,
        jitter: Arc<dyn Jitter>,
    ) -> Self {
        let node_name = node_name.to_owned();
        Self {
            client,
            node_name,
            saved,
            clock,
            jitter,
            events: None,
            health: Arc::default(),
            known: Arc::default(),
            mirrors: channel::Sender::default(),
        }
    }

    /// Reports pods that can't be read by events of them, too.
    #[must_use]
    pub fn telling(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = Some(events);
        self
    }

    /// Notes there while the API server's pods can't be read.
    #[must_use]
    pub fn with_health(mut self, health: Arc<SourceHealth>) -> Self {
        self.health = health;
        self
    }

    /// The mirror pods that the API server has, as they change.
    pub fn mirrors(&self) -> channel::Receiver<Mirrors> {
        self.mirrors.subscribe()
    }

    /// The newest objects of this node's pods. They have a change before it is reported.
    pub fn known(&self) -> Arc<KnownPods> {
        self.known.clone()
    }
}

/// What the watch writes and the other parts read.
struct Shared {
    set: Mutex<PodStore>,
    /// What the agent has yet to receive, in order.
    outbox: Mutex<VecDeque<SourceUpdate>>,
    changed: Notify,
    outdated: Outdated,
    /// Requests fail, and that was reported.
    is_away: AtomicBool,
}

impl Shared {
    fn set(&self) -> MutexGuard<'_, PodStore> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> MutexGuard<'_, VecDeque<SourceUpdate>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the agent of this.
    fn tell(&self, set: &PodStore, updates: Vec<SourceUpdate>) {
        let mut outbox = self.outbox();
        outbox.extend(updates);
        if outbox.len() > OUTBOX_MAX {
            tracing::warn!("Too many pod changes are waiting, sending all pods instead");
            *outbox = VecDeque::from([set.everything()]);
        }
        drop(outbox);
        self.changed.notify_one();
    }

    /// The pods that are worth remembering: mirror pods are made again from their manifests.
    fn to_save(&self) -> Vec<Arc<Pod>> {
        let mut pods = self.set().pods();
        pods.retain(|pod| !is_mirror(pod));
        pods
    }
}

#[async_trait]
impl PodSource for ApiPods {
    fn name(&self) -> SourceName {
        SourceName::from(API_SOURCE)
    }

    async fn run(self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let set = Mutex::new(PodStore::new(&self.node_name));
        let shared = Shared {
            set,
            outbox: Mutex::default(),
            changed: Notify::new(),
            outdated: Outdated::default(),
            is_away: AtomicBool::new(false),
        };
        if self.restore(&shared, &events, &stop).await.is_err() {
            return;
        }
        let fields = Some(format!("spec.nodeName={}", self.node_name));
        let selection = Selection { namespace: None, fields, initial: Initial::Stream };
        let on = |change| self.take(&shared, change);
        let watching = watch::run::<Pod>(&self.client, &selection, &*self.jitter, &stop, on);
        let sending = send(&shared, &events);
        let saving = async {
            match &self.saved {
                Some(saved) => {
                    saved.run(&self.node_name, &shared.outdated, || shared.to_save(), &*self.clock).await
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = watching => {}
            () = sending => {}
            () = saving => {}
        }
    }
}

/// No one listens, or the source is to stop.
struct SourceStopped;

impl ApiPods {
    /// Sends what was there before the agent's start, if anything is known of it.
    async fn restore(
        &self,
        shared: &Shared,
        events: &mpsc::Sender<SourceEvent>,
        stop: &CancellationToken,
    ) -> Result<(), SourceStopped> {
        let Some(saved) = &self.saved else { return Ok(()) };
        let Some(loaded) = stop.run_until_cancelled(saved.load(&self.node_name)).await else {
            return Err(SourceStopped);
        };
        let Some(pods) = loaded else { return Ok(()) };
        let pods = {
            let mut set = shared.set();
            let now = self.clock.now();
            set.restore(pods.into_iter().map(|pod| stamp::stamp(pod, |_| None, now)).collect());
            set.pods()
        };
        tracing::info!(count = pods.len(), "Restored pods of the API server");
        let event =
            SourceEvent { source: SourceName::from(API_SOURCE), update: SourceUpdate::Restored(pods) };
        match stop.run_until_cancelled(events.send(event)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(SourceStopped),
        }
    }

    /// Takes one change: first into what others look up, then to anyone who waits for it.
    fn take(&self, shared: &Shared, change: Change<Pod>) {
        match &change {
            Change::Disconnected(error) if shared.is_away.swap(true, Ordering::Relaxed) => {
                tracing::debug!(%error, "Failed to watch pods");
            }
            Change::Disconnected(error) => tracing::warn!(%error, "Failed to watch pods"),
            _ if shared.is_away.swap(false, Ordering::Relaxed) => {
                tracing::info!("Watching pods again");
            }
            _ => {}
        }
        match &change {
            Change::Unread(unread) => self.report(unread),
            Change::Replaced { .. } | Change::Connected => {
                self.health.read(API_SOURCE);
            }
            _ => {}
        }
        let mut set = shared.set();
        let now = self.clock.now();
        let change = match &change {
            Change::Replaced { .. } => {
                let times = stamp::times(&set.pods());
                stamp::stamped(change, |uid| times.get(uid).cloned(), now)
            }
            _ => {
                let known = |uid: &str| self.known.get(&PodUid::from(uid));
                stamp::stamped(change, |uid| first_seen(&*known(uid)?).map(str::to_owned), now)
            }
        };
        let mut changed = set.take(change);
        let mirrors = changed.mirrors.then(|| Arc::new(set.mirrors()));
        // A receiver of a change finds that pod, or a newer one.
        let updates = std::mem::take(&mut changed.updates);
        updates.iter().for_each(|update| self.known.take(update));
        if !updates.is_empty() {
            shared.tell(&set, updates);
        }
        drop(set);
        if let Some(mirrors) = mirrors {
            self.mirrors.send_replace(mirrors);
        }
        changed.warnings.iter().for_each(|malformed| self.warn(malformed));
        match (changed.saved, changed.ends) {
            (true, true) => shared.outdated.ended(),
            (true, false) => shared.outdated.changed(),
            (false, _) => {}
        }
    }
}

impl ApiPods {
    /// Reports that the pods couldn't be read for long, where people search: in the log, on the node, by an event of it.
    fn report(&self, Unread { lasted, error }: &Unread) {
        let since = self.clock.now() - SignedDuration::try_from(*lasted).unwrap_or_default();
        let since = witlet_core::node::whole_seconds(since);
        let unread = UnreadSource { source: API_SOURCE.to_owned(), since, error: error.clone() };
        let message = source_message(&unread);
        tracing::warn!(seconds = lasted.as_secs(), %error, "Pods of the API server are unreadable");
        self.health.unread(unread);
        if let Some(events) = &self.events {
            events.record(Event::warning(EventObject::Node, "SourceUnreadable", message));
        }
    }

    /// Reports an object that can't be read, where people search: in the log, and next to the pod.
    fn warn(&self, malformed: &Malformed) {
        let Malformed { key, message } = malformed;
        let Some(ObjectKey { namespace, name, uid }) = key else {
            tracing::warn!(error = message, "Failed to decode a pod without name and UID");
            return;
        };
        tracing::warn!(
            pod = %format_args!("{namespace}/{name}"),
            pod_uid = uid,
            error = message,
            "Failed to decode pod, keeping it unchanged"
        );
        let Some(events) = &self.events else { return };
        let full_name = PodFullName::new(namespace, name);
        let message = format!("Error validating pod {full_name}: {message}; keeping it unchanged");
        let object = EventObject::Pod { full_name, uid: PodUid::from(uid.as_str()), field_path: None };
        events.record(Event::warning(object, "FailedValidation", message));
    }
}

/// Sends what changes, as fast as the agent takes it.
async fn send(shared: &Shared, events: &mpsc::Sender<SourceEvent>) {
    loop {
        shared.changed.notified().await;
        loop {
            // The place comes first: until there is one, what waits may be reported at once instead.
            let Ok(place) = events.reserve().await else { return };
            let Some(update) = shared.outbox().pop_front() else { break };
            place.send(SourceEvent { source: SourceName::from(API_SOURCE), update });
        }
    }
}

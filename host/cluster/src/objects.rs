//! What pods refer to in the cluster: config maps and secrets, each watched by its name while pods here use it, tokens, services
//! and runtime classes.
//!
//! A watch for each object is what a node may have: it may not see others' secrets. It is begun when the first pod that names
//! the object is registered, and ended a little after the last one is gone, or once an immutable object was read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use witlet_core::container::spec::ServiceAddress;
use witlet_core::pod::PodUid;
use witlet_ports::{Clock, ClusterObjects, Jitter, ObjectError, Token, TokenWish};

use crate::services::Services;
use crate::tokens::Tokens;
use crate::watch::{self, Change, Selection, WatchError, Watched};
pub(crate) use store::OBJECTS_MAX;
use store::{Kind, Object, ObjectName, ObjectState, Store};

mod store;
#[cfg(test)]
mod tests;

/// The first answer about an object is there within this time, or the object counts as unavailable until it is (upstream: 1 s).
const FIRST_ANSWER_MAX: Duration = Duration::from_secs(5);
/// How often it is checked which unused objects to give up.
const IDLE_CHECK: Duration = Duration::from_secs(10);
/// While tokens are kept, it is checked this often at least which of them are due: wall time may be set.
const TOKEN_CHECK_MAX: Duration = Duration::from_secs(60);
/// Tokens that are given within this time are checked together.
const TOKENS_TOGETHER: Duration = Duration::from_secs(1);

/// What pods of this node refer to in the cluster.
pub struct Objects {
    client: kube::Client,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    store: Mutex<Store>,
    /// Other objects are to be watched.
    demand: Notify,
    /// Pods are to learn of a change.
    changed: Notify,
    /// A token was given, and will be due.
    tokens_given: Notify,
    tokens: Tokens,
    services: Services,
}

impl Objects {
    /// Reads nothing before it runs.
    pub fn new(client: kube::Client, clock: Arc<dyn Clock>, jitter: Arc<dyn Jitter>) -> Arc<Self> {
        Arc::new(Self {
            tokens: Tokens::new(client.clone(), clock.clone(), jitter.clone()),
            client,
            clock,
            jitter,
            store: Mutex::default(),
            demand: Notify::new(),
            changed: Notify::new(),
            tokens_given: Notify::new(),
            services: Services::default(),
        })
    }

    /// Watches what registered pods use, until `stop` is cancelled. To be run once.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut watches =
            Watches { of: self.clone(), stop: stop.clone(), running: BTreeMap::new(), tasks: JoinSet::new() };
        let services = self.services.run(&self.client, &*self.jitter, &stop);
        tokio::join!(services, watches.run(), self.tell_of_tokens(&stop));
    }

    /// How many objects are watched now; immutable ones that were read aren't.
    pub fn watched(&self) -> usize {
        self.store().watched().count()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the watch of one object says.
    fn observe(&self, name: &ObjectName, object: Option<Object>) {
        let outcome = self.store().read(name, object);
        if outcome.is_settled {
            self.demand.notify_one();
        }
        if outcome.has_changed {
            self.changed.notify_one();
        }
    }

    async fn get(&self, name: ObjectName) -> Result<Option<Object>, ObjectError> {
        let until = Instant::now() + FIRST_ANSWER_MAX;
        loop {
            let Some(news) = self.store().news(&name) else { return Err(not_registered(&name)) };
            // What comes between the check and the wait wakes up, too.
            let changed = news.notified();
            match self.store().state_of(&name) {
                None => return Err(not_registered(&name)),
                Some(ObjectState::Read(object)) => return Ok(object),
                Some(ObjectState::Failed(error @ ObjectError::Unavailable { .. })) => return Err(error),
                // A node may see an object a little after the pod that names it was bound.
                Some(ObjectState::Failed(error)) if Instant::now() >= until => return Err(error),
                Some(ObjectState::Unread) if Instant::now() >= until => return Err(not_synced(&name)),
                Some(ObjectState::Failed(_) | ObjectState::Unread) => {}
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Tokens were given. Many are at once, and none of them is due so soon.
    async fn other_tokens(&self) {
        self.tokens_given.notified().await;
        sleep(TOKENS_TOGETHER).await;
    }

    /// Has pods look for their tokens when these are due.
    async fn tell_of_tokens(&self, stop: &CancellationToken) {
        loop {
            let now = self.clock.now();
            let due = self.tokens.due(now);
            if !due.is_empty() {
                self.store().mark_changed(due);
                self.changed.notify_one();
            }
            let next = self.tokens.next_due();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.other_tokens() => {}
                () = sleep_for_token(next, now) => {}
            }
        }
    }
}

async fn sleep_for_token(next: Option<Timestamp>, now: Timestamp) {
    match next {
        Some(at) => {
            let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
            // A moment that is over by less than the clock says must not have this spin.
            sleep(wait.clamp(Duration::from_millis(1), TOKEN_CHECK_MAX)).await;
        }
        None => std::future::pending().await,
    }
}

fn not_registered(name: &ObjectName) -> ObjectError {
    let message = "not registered".to_owned();
    ObjectError::Unavailable { object: format!("object {:?}/{:?}", name.namespace, name.name), message }
}

fn not_synced(name: &ObjectName) -> ObjectError {
    let message = "timed out waiting for the condition".to_owned();
    ObjectError::Unavailable { object: format!("failed to sync {} cache", name.kind.word()), message }
}

#[async_trait]
impl ClusterObjects for Objects {
    fn register(&self, pod: &Arc<Pod>) {
        if self.store().register(pod, Instant::now()) {
            self.demand.notify_one();
        }
    }

    fn unregister(&self, uid: &PodUid) {
        self.tokens.forget(uid);
        if self.store().unregister(uid, Instant::now()) {
            self.demand.notify_one();
        }
    }

    async fn config_map(&self, namespace: &str, name: &str) -> Result<Option<Arc<ConfigMap>>, ObjectError> {
        match self.get(ObjectName::new(Kind::ConfigMap, namespace, name)).await? {
            Some(Object::ConfigMap(map)) => Ok(Some(map)),
            Some(Object::Secret(_)) | None => Ok(None),
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<Arc<Secret>>, ObjectError> {
        match self.get(ObjectName::new(Kind::Secret, namespace, name)).await? {
            Some(Object::Secret(secret)) => Ok(Some(secret)),
            Some(Object::ConfigMap(_)) | None => Ok(None),
        }
    }

    async fn token(&self, pod: &Pod, wish: &TokenWish) -> Result<Token, ObjectError> {
        let token = self.tokens.token(pod, wish).await?;
        // The pod may have gone meanwhile: no one would forget its token.
        if self.store().has_pod(&PodUid::of(pod)) {
            self.tokens_given.notify_one();
        } else {
            self.tokens.forget(&PodUid::of(pod));
        }
        Ok(token)
    }

    fn services(&self, namespace: &str) -> Option<Vec<Arc<ServiceAddress>>> {
        self.services.of_namespace(namespace)
    }

    async fn changed(&self) -> Vec<PodUid> {
        loop {
            let uids = self.store().take_changed();
            if !uids.is_empty() {
                return uids;
            }
            // A change since then has left word.
            self.changed.notified().await;
        }
    }

    fn runtime_classes(&self) -> Option<Arc<BTreeMap<String, String>>> {
        self.services.runtime_classes()
    }
}

/// The watches that run.
struct Watches {
    of: Arc<Objects>,
    stop: CancellationToken,
    running: BTreeMap<ObjectName, CancellationToken>,
    tasks: JoinSet<()>,
}

impl Watches {
    async fn run(&mut self) {
        loop {
            let has_idle = self.adjust();
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.of.demand.notified() => {}
                Some(_) = self.tasks.join_next() => {}
                () = sleep(IDLE_CHECK), if has_idle => {}
            }
        }
        self.tasks.shutdown().await;
    }

    /// Begins and ends watches, so that those run which are to. Gives whether some are only waited with.
    fn adjust(&mut self) -> bool {
        let (demand, has_idle) = {
            let mut store = self.of.store();
            let has_idle = store.drop_idle(Instant::now());
            let demand: Vec<ObjectName> = store.watched().cloned().collect();
            (demand, has_idle)
        };
        // Both are in the same order.
        self.running.retain(|name, stop| {
            let stays = demand.binary_search(name).is_ok();
            if !stays {
                stop.cancel();
            }
            stays
        });
        for name in demand {
            if !self.running.contains_key(&name) {
                let stop = self.stop.child_token();
                self.running.insert(name.clone(), stop.clone());
                let of = self.of.clone();
                match name.kind {
                    Kind::ConfigMap => self.tasks.spawn(watch_one::<ConfigMap>(of, name, stop)),
                    Kind::Secret => self.tasks.spawn(watch_one::<Secret>(of, name, stop)),
                };
            }
        }
        has_idle
    }
}

async fn watch_one<K: Watched + Clone + Into<Object>>(
    of: Arc<Objects>,
    name: ObjectName,
    stop: CancellationToken,
) {
    let selection = Selection {
        namespace: Some(name.namespace.to_string()),
        fields: Some(format!("metadata.name={}", name.name)),
        ..Selection::default()
    };
    let stopped = stop.clone();
    let on = |change: Change<K>| {
        // Another watch of the object may run by now, which knows more.
        if stopped.is_cancelled() {
            return;
        }
        match change {
            Change::Replaced { objects, malformed } => match objects.into_iter().next() {
                Some(object) => of.observe(&name, Some(Arc::unwrap_or_clone(object).into())),
                None if malformed.is_empty() => of.observe(&name, None),
                None => malformed.into_iter().for_each(|bad| of.fail(&name, bad.message)),
            },
            Change::Put(object) => of.observe(&name, Some(Arc::unwrap_or_clone(object).into())),
            Change::Deleted(_) => of.observe(&name, None),
            Change::Malformed(malformed) => of.fail(&name, malformed.message),
            Change::Disconnected(error) => of.disconnected(&name, &error),
            // Pods that wait for the object say so themselves.
            Change::Connected | Change::Unread(_) => {}
        }
    };
    watch::run(&of.client, &selection, &*of.jitter, &stop, on).await;
}

impl Objects {
    /// The object exists and can't be read: what was known before stays.
    fn fail(&self, name: &ObjectName, message: String) {
        tracing::warn!(object = %name, error = message, "Failed to read object");
        self.store().failed(name, ObjectError::Unavailable { object: name.to_string(), message });
    }

    fn disconnected(&self, name: &ObjectName, error: &WatchError) {
        let (object, message) = (name.to_string(), witlet_core::error::one_line(error));
        let error = match error {
            WatchError::Refused { code: 401 | 403, .. } => ObjectError::Refused { object, message },
            WatchError::Request(_)
            | WatchError::Refused { .. }
            | WatchError::Broken(_)
            | WatchError::Malformed(_)
            | WatchError::TooMuch(_)
            | WatchError::TimedOut(_)
            | WatchError::NeverSynced(_) => ObjectError::Unavailable { object, message },
        };
        self.store().failed(name, error);
    }
}

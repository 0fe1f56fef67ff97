//! Which objects pods here use, and what is known of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::Notify;
use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::pod::references::{self, References};
use witlet_ports::ObjectError;

#[cfg(test)]
mod tests;

/// An object that no pod uses is watched on for so long: the next pod of its kind may come soon.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(30);
/// Objects that are used at the same time; those beyond count as unavailable.
pub(crate) const OBJECTS_MAX: usize = 20_000;

/// Kinds of objects that are watched one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    /// Returns the name as messages have it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
        }
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectName {
    pub(super) kind: Kind,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
}

impl ObjectName {
    pub(super) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}/{}\"", self.kind.word(), self.namespace, self.name)
    }
}

/// An object's content. Of its metadata only the name is kept: annotations may hold all of the content once more.
#[derive(Clone, PartialEq)]
pub(super) enum Object {
    ConfigMap(Arc<ConfigMap>),
    Secret(Arc<Secret>),
}

impl From<ConfigMap> for Object {
    fn from(map: ConfigMap) -> Self {
        Self::ConfigMap(Arc::new(ConfigMap { metadata: named(map.metadata), ..map }))
    }
}

impl From<Secret> for Object {
    fn from(secret: Secret) -> Self {
        Self::Secret(Arc::new(Secret { metadata: named(secret.metadata), ..secret }))
    }
}

/// Returns what of the metadata says which object it is. One that was made again under its name is another: records of pulls tell secrets apart
/// by their UIDs.
fn named(metadata: ObjectMeta) -> ObjectMeta {
    let ObjectMeta { namespace, name, uid, .. } = metadata;
    ObjectMeta { namespace, name, uid, ..ObjectMeta::default() }
}

impl Object {
    fn is_immutable(&self) -> bool {
        let immutable = match self {
            Self::ConfigMap(map) => map.immutable,
            Self::Secret(secret) => secret.immutable,
        };
        immutable == Some(true)
    }
}

/// What is known of an object.
#[derive(Clone, PartialEq)]
pub(super) enum ObjectState {
    Unread,
    /// Nothing, for this reason.
    Failed(ObjectError),
    /// This is it; none if it doesn't exist.
    Read(Option<Object>),
}

struct Item {
    users: BTreeSet<PodUid>,
    state: ObjectState,
    /// Since when no one uses it.
    idle_since: Option<Instant>,
    /// Anyone who waits for it to be read.
    news: Arc<Notify>,
}

impl Item {
    /// It never changes again.
    fn is_settled(&self) -> bool {
        matches!(&self.state, ObjectState::Read(Some(object)) if object.is_immutable())
    }
}

struct Registered {
    /// The pod's version that was read; the pod itself would be kept alive long after there is a newer one.
    version: Option<String>,
    names: BTreeSet<ObjectName>,
}

/// What follows from news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadOutcome {
    /// The object needs no watch any more.
    pub(super) is_settled: bool,
    /// Pods are to learn of it.
    pub(super) has_changed: bool,
}

/// Objects, and the pods that use them.
#[derive(Default)]
pub(super) struct Store {
    items: BTreeMap<ObjectName, Item>,
    pods: BTreeMap<PodUid, Registered>,
    /// Pods that use what has changed, and weren't reported yet.
    changed: BTreeSet<PodUid>,
}

impl Store {
    /// The pod uses what its spec names, and nothing else. Gives whether other objects are to be watched now.
    pub(super) fn register(&mut self, pod: &Arc<Pod>, now: Instant) -> bool {
        let uid = PodUid::of(pod);
        let version = pod.metadata.resource_version.clone();
        if version.is_some() && self.pods.get(&uid).is_some_and(|known| known.version == version) {
            return false;
        }
        let names = names(pod);
        let before = self.pods.insert(uid.clone(), Registered { version, names: names.clone() });
        let before = before.map(|before| before.names).unwrap_or_default();
        let mut begins = false;
        for name in names.difference(&before) {
            begins |= self.add_user(name, &uid);
        }
        for name in before.difference(&names) {
            self.remove_user(name, &uid, now);
        }
        begins
    }

    fn add_user(&mut self, name: &ObjectName, uid: &PodUid) -> bool {
        let is_new = !self.items.contains_key(name);
        if is_new && self.items.len() >= OBJECTS_MAX {
            tracing::error!(object = %name, limit = OBJECTS_MAX, "Too many objects in use");
            return false;
        }
        let item = self.items.entry(name.clone()).or_insert_with(|| Item {
            users: BTreeSet::new(),
            state: ObjectState::Unread,
            idle_since: None,
            news: Arc::default(),
        });
        item.users.insert(uid.clone());
        item.idle_since = None;
        is_new
    }

    fn remove_user(&mut self, name: &ObjectName, uid: &PodUid, now: Instant) {
        if let Some(item) = self.items.get_mut(name) {
            item.users.remove(uid);
            if item.users.is_empty() {
                item.idle_since = Some(now);
            }
        }
    }

    /// The pod uses nothing any more. Gives whether that leaves something unused.
    pub(super) fn unregister(&mut self, uid: &PodUid, now: Instant) -> bool {
        self.changed.remove(uid);
        let Some(Registered { names, .. }) = self.pods.remove(uid) else { return false };
        for name in &names {
            self.remove_user(name, uid, now);
        }
        !names.is_empty()
    }

    pub(super) fn has_pod(&self, uid: &PodUid) -> bool {
        self.pods.contains_key(uid)
    }

    /// Gives up what wasn't used for a while. Gives whether something else isn't used.
    pub(super) fn drop_idle(&mut self, now: Instant) -> bool {
        self.items.retain(|_, item| item.idle_since.is_none_or(|since| now.duration_since(since) < IDLE_MAX));
        self.items.values().any(|item| item.idle_since.is_some())
    }

    /// Objects that are to be watched, in their order.
    pub(super) fn watched(&self) -> impl Iterator<Item = &ObjectName> {
        self.items.iter().filter(|(_, item)| !item.is_settled()).map(|(name, _)| name)
    }

    /// Returns what is known of an object; none if no one uses it.
    pub(super) fn state_of(&self, name: &ObjectName) -> Option<ObjectState> {
        self.items.get(name).map(|item| item.state.clone())
    }

    /// Reports as soon as something else is known of the object.
    pub(super) fn news(&self, name: &ObjectName) -> Option<Arc<Notify>> {
        self.items.get(name).map(|item| item.news.clone())
    }

    /// The object is this now; none if it doesn't exist.
    pub(super) fn read(&mut self, name: &ObjectName, object: Option<Object>) -> ReadOutcome {
        let Some(item) = self.items.get_mut(name) else {
            return ReadOutcome { is_settled: false, has_changed: false };
        };
        let before = std::mem::replace(&mut item.state, ObjectState::Read(object));
        // Anyone who asked before the first answer came waits for it; anyone who was refused doesn't.
        let has_changed = before != ObjectState::Unread && before != item.state;
        if has_changed {
            self.changed.extend(item.users.iter().cloned());
        }
        item.news.notify_waiters();
        ReadOutcome { is_settled: item.is_settled(), has_changed: has_changed && !item.users.is_empty() }
    }

    /// The object can't be had. What is known of it stays.
    pub(super) fn failed(&mut self, name: &ObjectName, error: ObjectError) {
        let Some(item) = self.items.get_mut(name) else { return };
        match item.state {
            ObjectState::Unread | ObjectState::Failed(_) => {
                item.state = ObjectState::Failed(error);
                item.news.notify_waiters();
            }
            ObjectState::Read(_) => {}
        }
    }

    /// These pods are to learn of a change. Those that aren't registered don't.
    pub(super) fn mark_changed(&mut self, uids: Vec<PodUid>) {
        self.changed.extend(uids.into_iter().filter(|uid| self.pods.contains_key(uid)));
    }

    /// Pods that are to learn of a change, once.
    pub(super) fn take_changed(&mut self) -> Vec<PodUid> {
        std::mem::take(&mut self.changed).into_iter().collect()
    }
}

/// Returns what the pod names.
fn names(pod: &Pod) -> BTreeSet<ObjectName> {
    let namespace: Arc<str> = pod.metadata.namespace.as_deref().unwrap_or_default().into();
    let References { config_maps, secrets, tokens: _ } = references::of_pod(pod);
    let of = |kind| {
        let namespace = namespace.clone();
        move |name: String| ObjectName { kind, namespace: namespace.clone(), name: name.into() }
    };
    let config_maps = config_maps.into_iter().map(of(Kind::ConfigMap));
    config_maps.chain(secrets.into_iter().map(of(Kind::Secret))).collect()
}

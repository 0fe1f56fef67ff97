//! The pods that the API server has for this node, kept by what the watch tells of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::static_pod::{CONFIG_SOURCE, is_mirror};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{Phase, foreign};

use crate::watch::{Change, Malformed, ObjectKey};

/// Malformed pods that are remembered to be told of only once; beyond that they are told of again.
const TOLD_MAX: usize = 1000;
/// UIDs that are remembered as gone until the next set; beyond that one that comes back at once isn't told from one that stayed.
const GONE_MAX: usize = 10_000;
/// Characters of a UID.
const UID_CHARACTERS_MAX: usize = 128;

/// Pods by namespace and name: while one ends another can't take its name, so that each name has one object.
#[derive(Debug, Default)]
pub(super) struct PodSet {
    node_name: String,
    pods: BTreeMap<PodFullName, Arc<Pod>>,
    /// Pods whose newest object can't be read; whoever was known before stays as it was.
    unread: BTreeSet<PodFullName>,
    /// A list had objects that don't even tell their names.
    has_nameless: bool,
    /// Pods that went since the last set was taken.
    gone: BTreeSet<PodUid>,
    /// What was told of malformed pods.
    told: BTreeSet<(Option<ObjectKey>, String)>,
}

/// What a change did to the set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changed {
    /// The agent is to be told.
    pub(super) set: bool,
    /// But it isn't urgent: the change is what the agent said itself.
    pub(super) is_echo: bool,
    /// A mirror pod came, went or changed.
    pub(super) mirrors: bool,
    /// Something that is worth a write to the disk; the agent's own reports aren't.
    pub(super) saved: bool,
    /// And that soon: a pod is to end, or its object is gone.
    pub(super) ends: bool,
    /// All pods were read: what was known before counts no more.
    pub(super) replaced: bool,
    /// Pods that are new or changed.
    pub(super) put: Vec<Arc<Pod>>,
    /// Pods that are gone.
    pub(super) removed: Vec<PodUid>,
    /// What an operator should know of objects that can't be read, once each.
    pub(super) warnings: Vec<Malformed>,
}

impl PodSet {
    pub(super) fn new(node_name: &str) -> Self {
        Self { node_name: node_name.to_owned(), ..Self::default() }
    }

    /// Takes what was there before the agent's start: it stands until the API server was read.
    pub(super) fn restore(&mut self, pods: Vec<Arc<Pod>>) {
        let usable = pods.into_iter().filter(|pod| self.is_ours(pod) && problem(pod).is_none());
        self.pods = usable.map(|pod| (PodFullName::of(&pod), with_source(pod))).collect();
    }

    /// All pods, mirror pods among them.
    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.values().cloned().collect()
    }

    /// The mirror pods.
    pub(super) fn mirrors(&self) -> BTreeMap<PodFullName, Arc<Pod>> {
        let mirrors = self.pods.iter().filter(|(_, pod)| is_mirror(pod));
        mirrors.map(|(name, pod)| (name.clone(), pod.clone())).collect()
    }

    /// Whether there is no pod that could never be read.
    pub(super) fn is_complete(&self) -> bool {
        !self.has_nameless && self.unread.iter().all(|name| self.pods.contains_key(name))
    }

    pub(super) fn take(&mut self, change: Change<Pod>) -> Changed {
        let mut changed = Changed::default();
        match change {
            Change::Replaced { objects, malformed } => self.replace(objects, malformed, &mut changed),
            Change::Put(pod) => match self.checked(pod) {
                Ok(Some(pod)) => self.put(pod, &mut changed),
                Ok(None) => {}
                Err(malformed) => self.unreadable(malformed, &mut changed),
            },
            Change::Deleted(key) => self.delete(&key, &mut changed),
            Change::Malformed(malformed) => self.unreadable(malformed, &mut changed),
            Change::Disconnected(_) | Change::Connected | Change::Unread(_) => {}
        }
        let room = GONE_MAX.saturating_sub(self.gone.len());
        self.gone.extend(changed.removed.iter().take(room).cloned());
        changed
    }

    /// All pods, as the agent is to have them next. Pods that went and came back with their UIDs since it was asked last are
    /// others now: before, it has to hear of a set without them, which comes first.
    pub(super) fn take_sets(&mut self) -> Vec<Vec<Arc<Pod>>> {
        let gone = std::mem::take(&mut self.gone);
        let pods = self.pods();
        let stayed: Vec<_> = pods.iter().filter(|pod| !gone.contains(&PodUid::of(pod))).cloned().collect();
        if stayed.len() == pods.len() { vec![pods] } else { vec![stayed, pods] }
    }

    fn is_ours(&self, pod: &Pod) -> bool {
        pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(&self.node_name)
    }

    /// The pod as the agent is to have it; none if it isn't this node's.
    fn checked(&self, pod: Arc<Pod>) -> Result<Option<Arc<Pod>>, Malformed> {
        if !self.is_ours(&pod) {
            return Ok(None);
        }
        match problem(&pod) {
            Some(message) => Err(Malformed { key: Some(key_of(&pod)), message: message.to_owned() }),
            None => Ok(Some(with_source(pod))),
        }
    }

    fn replace(&mut self, objects: Vec<Arc<Pod>>, malformed: Vec<Malformed>, changed: &mut Changed) {
        let mut old = std::mem::take(&mut self.pods);
        let old_mirrors = old.values().any(|pod| is_mirror(pod));
        self.unread.clear();
        self.has_nameless = false;
        let mut unreadable = malformed;
        for object in objects {
            match self.checked(object) {
                Ok(Some(pod)) => {
                    let name = PodFullName::of(&pod);
                    let known = old.remove(&name);
                    let same = known.filter(|known| is_same_version(known, &pod));
                    self.pods.insert(name, same.unwrap_or(pod));
                }
                Ok(None) => {}
                Err(malformed) => unreadable.push(malformed),
            }
        }
        for malformed in unreadable {
            match &malformed.key {
                Some(key) => {
                    let name = PodFullName::new(&key.namespace, &key.name);
                    if let Some(known) = old.remove(&name).filter(|known| is_of(known, key)) {
                        self.pods.insert(name.clone(), known);
                    }
                    self.unread.insert(name);
                }
                None => self.has_nameless = true,
            }
            self.warn(malformed, changed);
        }
        if self.has_nameless {
            // Any of those that seem gone may be the one that can't be read.
            for (name, pod) in std::mem::take(&mut old) {
                self.pods.entry(name).or_insert(pod);
            }
        }
        let gone = old.values().map(|pod| PodUid::of(pod));
        changed.removed = gone.collect();
        changed.put = self.pods();
        changed.set = true;
        changed.saved = true;
        changed.ends = !changed.removed.is_empty() || self.pods.values().any(|pod| is_deleted(pod));
        changed.replaced = true;
        changed.mirrors = old_mirrors || self.pods.values().any(|pod| is_mirror(pod));
    }

    fn put(&mut self, pod: Arc<Pod>, changed: &mut Changed) {
        let name = PodFullName::of(&pod);
        let was_unread = self.unread.remove(&name);
        let old = self.pods.insert(name, pod.clone());
        changed.set = true;
        changed.mirrors = is_mirror(&pod) || old.as_ref().is_some_and(|old| is_mirror(old));
        changed.saved = !is_mirror(&pod) && old.as_ref().is_none_or(|old| is_worth_saving(old, &pod));
        changed.is_echo = !was_unread && old.as_ref().is_some_and(|old| is_echo(old, &pod));
        changed.ends = changed.saved && is_deleted(&pod) && !old.as_ref().is_some_and(|old| is_deleted(old));
        let other = old.map(|old| PodUid::of(&old)).filter(|uid| *uid != PodUid::of(&pod));
        changed.ends |= other.is_some();
        changed.removed.extend(other);
        changed.put.push(pod);
    }

    fn delete(&mut self, key: &ObjectKey, changed: &mut Changed) {
        let name = PodFullName::new(&key.namespace, &key.name);
        changed.set = self.unread.remove(&name);
        if !self.pods.get(&name).is_some_and(|pod| is_of(pod, key)) {
            return;
        }
        let Some(pod) = self.pods.remove(&name) else { return };
        changed.set = true;
        changed.mirrors = is_mirror(&pod);
        changed.saved = !changed.mirrors;
        changed.ends = changed.saved && !is_deleted(&pod);
        changed.removed.push(PodUid::of(&pod));
    }

    fn unreadable(&mut self, malformed: Malformed, changed: &mut Changed) {
        if let Some(key) = &malformed.key {
            let name = PodFullName::new(&key.namespace, &key.name);
            // Another pod of that name is there now: the old one is gone, whatever the new one is.
            let other =
                self.pods.get(&name).filter(|known| !is_of(known, key)).map(|known| PodUid::of(known));
            if let Some(uid) = other {
                let removed = self.pods.remove(&name);
                changed.mirrors = removed.is_some_and(|pod| is_mirror(&pod));
                changed.removed.push(uid);
                (changed.saved, changed.ends) = (true, true);
            }
            changed.set = self.unread.insert(name) || !changed.removed.is_empty();
        }
        self.warn(malformed, changed);
    }

    fn warn(&mut self, malformed: Malformed, changed: &mut Changed) {
        if self.told.len() >= TOLD_MAX {
            self.told.clear();
        }
        if self.told.insert((malformed.key.clone(), malformed.message.clone())) {
            changed.warnings.push(malformed);
        }
    }
}

/// What stands in the way of taking the pod in. Its UID becomes the name of a folder.
fn problem(pod: &Pod) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let is_uid = !uid.is_empty()
        && uid.len() <= UID_CHARACTERS_MAX
        && !uid.starts_with('.')
        && uid.bytes().all(is_plain);
    if !is_uid {
        return Some("it has no UID that is one");
    }
    let is_name = |name: Option<&str>| name.is_some_and(|name| !name.is_empty() && !name.contains('/'));
    if !is_name(pod.metadata.namespace.as_deref()) {
        return Some("it has no namespace that is one");
    }
    if !is_name(pod.metadata.name.as_deref()) {
        return Some("it has no name that is one");
    }
    None
}

fn key_of(pod: &Pod) -> ObjectKey {
    let meta = &pod.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ObjectKey { namespace: text(&meta.namespace), name: text(&meta.name), uid: text(&meta.uid) }
}

/// A key without a UID stands for whoever has the name.
fn is_of(pod: &Pod, key: &ObjectKey) -> bool {
    key.uid.is_empty() || pod.metadata.uid.as_deref() == Some(&key.uid)
}

fn is_same_version(old: &Pod, new: &Pod) -> bool {
    let version = &new.metadata.resource_version;
    version.is_some() && old.metadata.resource_version == *version && old.metadata.uid == new.metadata.uid
}

/// Statuses come back from the agent itself, many times in a pod's life; only how it ended is worth a write.
fn is_worth_saving(old: &Pod, new: &Pod) -> bool {
    is_other_wish(old, new) || phase(old) != phase(new)
}

/// Whether nothing changed but what the node says itself of its pod. A phase that others say is over ends the pod here.
fn is_echo(old: &Pod, new: &Pod) -> bool {
    !is_other_wish(old, new)
        && foreign(old).eq(foreign(new))
        && (phase(old) == phase(new) || !phase(new).is_some_and(Phase::is_terminal))
}

fn is_other_wish(old: &Pod, new: &Pod) -> bool {
    let (was, is) = (&old.metadata, &new.metadata);
    old.spec != new.spec
        || was.uid != is.uid
        || was.labels != is.labels
        || was.annotations != is.annotations
        || was.deletion_timestamp != is.deletion_timestamp
        || was.deletion_grace_period_seconds != is.deletion_grace_period_seconds
}

fn is_deleted(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

fn phase(pod: &Pod) -> Option<Phase> {
    pod.status.as_ref().and_then(Phase::of)
}

/// Says that the pod comes from the API server.
fn with_source(mut pod: Arc<Pod>) -> Arc<Pod> {
    let annotations = pod.metadata.annotations.as_ref();
    if annotations
        .and_then(|annotations| annotations.get(CONFIG_SOURCE))
        .is_some_and(|source| source == "api")
    {
        return pod;
    }
    let annotations = Arc::make_mut(&mut pod).metadata.annotations.get_or_insert_default();
    annotations.insert(CONFIG_SOURCE.to_owned(), "api".to_owned());
    pod
}

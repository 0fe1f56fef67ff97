//! The pods that the API server has for this node, kept by what the watch reports them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::static_pod::{CONFIG_SOURCE, is_mirror};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::sources::{SourceUpdate, is_other_wish};
use witlet_core::status::Phase;

use crate::watch::{Change, Malformed, ObjectKey};

/// Malformed pods that are remembered so that they are reported once; beyond that they are reported again.
const REPORTED_MAX: usize = 1000;
/// How many names of pods that can't be read are reported.
const UNREAD_REPORTED_MAX: usize = 10;
/// Characters of a UID.
const UID_CHARACTERS_MAX: usize = 128;
/// Characters of a foreign text in a message.
const SHOWN_CHARACTERS_MAX: usize = 80;

/// Pods by namespace and name: while one ends another can't take its name, so that each name has one object.
#[derive(Debug, Default)]
pub(super) struct PodStore {
    node_name: String,
    pods: BTreeMap<PodFullName, Arc<Pod>>,
    /// Pods whose newest object can't be read; one that was known before stays as it was.
    unread: BTreeSet<PodFullName>,
    /// A list had objects that don't even tell their names.
    has_nameless: bool,
    /// What was reported of malformed pods.
    reported: BTreeSet<(Option<ObjectKey>, String)>,
}

/// What a change did to the set.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// What the agent is to be reported.
    pub(super) updates: Vec<SourceUpdate>,
    /// A mirror pod came, went or changed.
    pub(super) mirrors: bool,
    /// Something that is worth a write to the disk; the agent's own reports aren't.
    pub(super) saved: bool,
    /// And that soon: a pod is to end, or its object is gone.
    pub(super) ends: bool,
    /// What an operator should know of objects that can't be read, once each.
    pub(super) warnings: Vec<Malformed>,
}

impl PodStore {
    pub(super) fn new(node_name: &str) -> Self {
        Self { node_name: node_name.to_owned(), ..Self::default() }
    }

    /// Takes what was there before the agent's start: it stands until the API server was read.
    pub(super) fn restore(&mut self, pods: Vec<Arc<Pod>>) {
        let usable = pods.into_iter().filter(|pod| self.is_ours(pod) && problem(pod).is_none());
        self.pods = usable.map(|pod| (PodFullName::of(&pod), with_source(pod))).collect();
    }

    /// Returns all pods, mirror pods among them.
    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.values().cloned().collect()
    }

    /// The mirror pods.
    pub(super) fn mirrors(&self) -> BTreeMap<PodFullName, Arc<Pod>> {
        let mirrors = self.pods.iter().filter(|(_, pod)| is_mirror(pod));
        mirrors.map(|(name, pod)| (name.clone(), pod.clone())).collect()
    }

    /// Returns all pods and no others.
    pub(super) fn everything(&self) -> SourceUpdate {
        SourceUpdate::Replaced { pods: self.pods(), incomplete: self.incomplete() }
    }

    /// Which objects could never be read; none if there are no such.
    fn incomplete(&self) -> Option<String> {
        let never = self.unread.iter().filter(|name| !self.pods.contains_key(*name));
        let mut never: Vec<String> = never.take(UNREAD_REPORTED_MAX).map(ToString::to_string).collect();
        if self.has_nameless {
            never.push("an object without name".to_owned());
        }
        (!never.is_empty()).then(|| format!("failed to decode objects: {}", never.join(", ")))
    }

    pub(super) fn take(&mut self, change: Change<Pod>) -> Changed {
        let mut changed = Changed::default();
        let incomplete = self.incomplete();
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
        let is_reported =
            changed.updates.iter().any(|update| matches!(update, SourceUpdate::Replaced { .. }));
        if !is_reported && self.incomplete() != incomplete {
            changed.updates.push(SourceUpdate::Incomplete(self.incomplete()));
        }
        changed
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
            Some(message) => Err(Malformed { key: Some(key_of(&pod)), message }),
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
        changed.updates.push(self.everything());
        changed.saved = true;
        changed.ends = !old.is_empty() || self.pods.values().any(|pod| is_deleted(pod));
        changed.mirrors = old_mirrors || self.pods.values().any(|pod| is_mirror(pod));
    }

    fn put(&mut self, pod: Arc<Pod>, changed: &mut Changed) {
        let name = PodFullName::of(&pod);
        self.unread.remove(&name);
        let old = self.pods.insert(name, pod.clone());
        changed.mirrors = is_mirror(&pod) || old.as_ref().is_some_and(|old| is_mirror(old));
        changed.saved = !is_mirror(&pod) && old.as_ref().is_none_or(|old| is_worth_saving(old, &pod));
        changed.ends = changed.saved && is_deleted(&pod) && !old.as_ref().is_some_and(|old| is_deleted(old));
        let other = old.map(|old| PodUid::of(&old)).filter(|uid| *uid != PodUid::of(&pod));
        changed.ends |= other.is_some();
        changed.updates.extend(other.map(SourceUpdate::Deleted));
        changed.updates.push(SourceUpdate::Put(pod));
    }

    fn delete(&mut self, key: &ObjectKey, changed: &mut Changed) {
        let name = PodFullName::new(&key.namespace, &key.name);
        self.unread.remove(&name);
        if !self.pods.get(&name).is_some_and(|pod| is_of(pod, key)) {
            return;
        }
        let Some(pod) = self.pods.remove(&name) else { return };
        changed.mirrors = is_mirror(&pod);
        changed.saved = !changed.mirrors;
        changed.ends = changed.saved && !is_deleted(&pod);
        changed.updates.push(SourceUpdate::Deleted(PodUid::of(&pod)));
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
                changed.updates.push(SourceUpdate::Deleted(uid));
                (changed.saved, changed.ends) = (true, true);
            }
            self.unread.insert(name);
        }
        self.warn(malformed, changed);
    }

    fn warn(&mut self, malformed: Malformed, changed: &mut Changed) {
        if self.reported.len() >= REPORTED_MAX {
            self.reported.clear();
        }
        if self.reported.insert((malformed.key.clone(), malformed.message.clone())) {
            changed.warnings.push(malformed);
        }
    }
}

/// Why the pod can't be taken, if it can't. Its UID becomes the name of a folder.
fn problem(pod: &Pod) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let is_uid = !uid.is_empty()
        && uid.len() <= UID_CHARACTERS_MAX
        && !uid.starts_with('.')
        && uid.bytes().all(is_plain);
    if !is_uid {
        return Some(format!("metadata.uid must be a UUID, found {}", shown(uid)));
    }
    let names = [("namespace", &pod.metadata.namespace), ("name", &pod.metadata.name)];
    names.into_iter().find_map(|(field, name)| {
        let name = name.as_deref().unwrap_or_default();
        let is_name = !name.is_empty() && !name.contains('/');
        (!is_name).then(|| format!("metadata.{field} must be a name without `/`, found {}", shown(name)))
    })
}

/// A foreign text for a message, cut where it gets long.
fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARACTERS_MAX).collect();
    format!("{cut:?}")
}

fn key_of(pod: &Pod) -> ObjectKey {
    let meta = &pod.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ObjectKey { namespace: text(&meta.namespace), name: text(&meta.name), uid: text(&meta.uid) }
}

/// A key without a UID stands for anyone who has the name.
fn is_of(pod: &Pod, key: &ObjectKey) -> bool {
    key.uid.is_empty() || pod.metadata.uid.as_deref() == Some(&key.uid)
}

fn is_same_version(old: &Pod, new: &Pod) -> bool {
    let version = &new.metadata.resource_version;
    version.is_some() && old.metadata.resource_version == *version && old.metadata.uid == new.metadata.uid
}

/// Statuses come back from the agent itself, many times in a pod's life; only how it ended is worth a write.
fn is_worth_saving(old: &Pod, new: &Pod) -> bool {
    old.metadata.uid != new.metadata.uid || is_other_wish(old, new) || phase(old) != phase(new)
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

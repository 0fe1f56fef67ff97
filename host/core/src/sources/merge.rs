//! Merges what sources report into one set of pods, and returns what changed (upstream's `config/config.go`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::pod::static_pod::{CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE, first_seen, set_first_seen};
use crate::pod::{PodFullName, PodUid, SourceName};

#[cfg(test)]
mod tests;

/// What a source says of its pods.
#[derive(Clone, Debug)]
pub enum SourceUpdate {
    /// It has these pods and no others. With a reason if a part of what it has could never be read: then pods that ran before the
    /// agent started, and that no source has, may be of that part and are left alone.
    Replaced {
        /// All of its pods, named, defaulted and validated.
        pods: Vec<Arc<Pod>>,
        /// Why something is missing from them; none if nothing is.
        incomplete: Option<String>,
    },
    /// It had these before the agent started, and can't tell yet what it has. They run, but the source counts as unseen: nothing is
    /// cleaned up on its word (upstream had it as `RESTORE`).
    Restored(Vec<Arc<Pod>>),
    /// It has this pod, which is new or has changed. Another one of its name is gone.
    Put(Arc<Pod>),
    /// It doesn't have this pod any more.
    Deleted(PodUid),
    /// Something that it has could never be read, and why; none once nothing is missing.
    Incomplete(Option<String>),
}

/// What a change asks of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PodOperation {
    /// The source no longer has the pod.
    Remove,
    /// The pod is new. An empty one only says that its source has spoken.
    Add,
    /// Spec, labels or annotations differ.
    Update,
    /// The pod is to end within its grace; its source still has it.
    Delete,
    /// Only the status differs.
    Reconcile,
}

/// Pods of one source with one thing to be done about them.
#[derive(Clone, Debug)]
pub struct PodUpdate {
    /// What is to be done.
    pub op: PodOperation,
    /// Whose pods they are.
    pub source: SourceName,
    /// The pods as they are now; as they last were for [`PodOperation::Remove`].
    pub pods: Vec<Arc<Pod>>,
}

/// A pod that was left out of a set.
#[derive(Clone, Debug, PartialEq)]
pub enum Duplicate {
    /// An earlier pod of the set has its name; upstream's reason is `FailedValidation`.
    Name {
        /// The pod that was left out.
        pod: Arc<Pod>,
    },
    /// An earlier pod of the set has its UID.
    Uid {
        /// The pod that was left out.
        pod: Arc<Pod>,
    },
    /// Another source brought the UID first, and owns it until it lets go of it.
    OwnedBySource {
        /// The pod that was left out.
        pod: Arc<Pod>,
        /// Who owns the UID.
        owner: SourceName,
    },
    /// The pod comes from a plugin, and another source has a pod of its name.
    NameOfSource {
        /// The pod that was left out.
        pod: Arc<Pod>,
        /// Who has the name.
        owner: SourceName,
    },
}

/// What one update changed.
#[derive(Clone, Debug, Default)]
pub struct SourceChange {
    /// Pods that the source no longer has, as they last were.
    pub removed: Vec<Arc<Pod>>,
    /// Pods that it didn't have before.
    pub added: Vec<Arc<Pod>>,
    /// Pods whose spec, labels or annotations changed.
    pub updated: Vec<Arc<Pod>>,
    /// Pods that changed and carry a deletion timestamp.
    pub deleted: Vec<Arc<Pod>>,
    /// Pods of which only the status changed.
    pub reconciled: Vec<Arc<Pod>>,
    /// Pods that were left out, to be reported.
    pub duplicates: Vec<Duplicate>,
    /// Whether this was the source's first set.
    pub first: bool,
}

impl SourceChange {
    /// Whether nothing changed and nothing is to be reported.
    fn is_empty(&self) -> bool {
        let pods = [&self.removed, &self.added, &self.updated, &self.deleted, &self.reconciled];
        pods.iter().all(|pods| pods.is_empty()) && self.duplicates.is_empty()
    }

    /// The change as updates in upstream's order: remove, add, update, delete, reconcile. Removals come first, so that
    /// what a pod held is free for the one that takes its place. A first set without pods is an empty add, so that
    /// anyone who waits for all sources learns of it.
    pub fn into_updates(self, source: &SourceName) -> Vec<PodUpdate> {
        let seen_empty = self.first && self.added.is_empty();
        [
            (PodOperation::Remove, self.removed),
            (PodOperation::Add, self.added),
            (PodOperation::Update, self.updated),
            (PodOperation::Delete, self.deleted),
            (PodOperation::Reconcile, self.reconciled),
        ]
        .into_iter()
        .filter(|(op, pods)| !pods.is_empty() || (*op == PodOperation::Add && seen_empty))
        .map(|(op, pods)| PodUpdate { op, source: source.clone(), pods })
        .collect()
    }
}

/// What one source has.
#[derive(Clone, Debug, Default)]
struct SourceState {
    pods: HashMap<PodUid, Arc<Pod>>,
    names: HashMap<PodFullName, PodUid>,
    /// What it has besides, left out while another source has their UIDs or names.
    waiting: Vec<Arc<Pod>>,
}

/// What all sources have.
#[derive(Clone, Debug, Default)]
pub struct MergedPods {
    sources: BTreeMap<SourceName, SourceState>,
    /// Those that are plugins', which give way: a pod of theirs whose name another source has is left out, until that source lets
    /// go of the name.
    plugins: BTreeSet<SourceName>,
    /// Those that have reported what they have, not only what they had before the agent started.
    seen: BTreeSet<SourceName>,
    owners: HashMap<PodUid, SourceName>,
}

impl MergedPods {
    /// Takes what a source of the agent's own says, and says what that changes: the source's own change first, then those of
    /// sources that waited for a UID or name that it let go of, or that give way to it.
    pub fn take(
        &mut self,
        source: &SourceName,
        update: SourceUpdate,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        self.plugins.remove(source);
        self.take_any(source, update, now)
    }

    /// The same for a plugin's source, which gives way to all others.
    pub fn take_of_plugin(
        &mut self,
        source: &SourceName,
        update: SourceUpdate,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        self.plugins.insert(source.clone());
        self.take_any(source, update, now)
    }

    /// Forgets a source that is gone, as if it had sent an empty set and never been seen.
    pub fn remove_source(&mut self, source: &SourceName, now: Timestamp) -> Vec<(SourceName, SourceChange)> {
        let mut change = SourceChange::default();
        self.replace(source, Vec::new(), now, &mut change);
        let changes = self.settle(source, change, now);
        self.sources.remove(source);
        self.plugins.remove(source);
        self.seen.remove(source);
        changes
    }

    /// Whether the source has ever said what it has, not only what it had before the agent's start.
    pub fn is_seen(&self, source: &SourceName) -> bool {
        self.seen.contains(source)
    }

    /// How many pods all sources have.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether no source has any.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    fn take_any(
        &mut self,
        source: &SourceName,
        update: SourceUpdate,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        let mut change = SourceChange::default();
        match update {
            // A source that was seen knows better.
            SourceUpdate::Restored(_) if self.is_seen(source) => return Vec::new(),
            SourceUpdate::Restored(pods) => {
                change.first = true;
                self.replace(source, pods, now, &mut change);
            }
            SourceUpdate::Replaced { pods, .. } => {
                change.first = self.seen.insert(source.clone());
                self.replace(source, pods, now, &mut change);
            }
            SourceUpdate::Put(pod) => self.put(source, pod, now, &mut change),
            SourceUpdate::Deleted(uid) => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.waiting.retain(|pod| PodUid::of(pod) != uid);
                }
                self.remove(source, &uid, &mut change);
            }
            SourceUpdate::Incomplete(_) => {}
        }
        self.settle(source, change, now)
    }

    /// The source has these pods and no others. Of two with one name or UID the first counts.
    fn replace(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
        change: &mut SourceChange,
    ) {
        let (mut names, mut uids) = (HashSet::with_capacity(pods.len()), HashSet::with_capacity(pods.len()));
        let (mut kept, mut waiting) = (Vec::with_capacity(pods.len()), Vec::new());
        for pod in pods {
            let (uid, name) = (PodUid::of(&pod), PodFullName::of(&pod));
            if let Some(duplicate) = self.taken_elsewhere(source, &pod) {
                change.duplicates.push(duplicate);
                waiting.push(pod);
            } else if names.contains(&name) {
                change.duplicates.push(Duplicate::Name { pod });
            } else if !uids.insert(uid) {
                change.duplicates.push(Duplicate::Uid { pod });
            } else {
                names.insert(name);
                kept.push(pod);
            }
        }
        let state = self.sources.entry(source.clone()).or_default();
        state.waiting = waiting;
        let gone: Vec<PodUid> = state.pods.keys().filter(|uid| !uids.contains(*uid)).cloned().collect();
        for uid in gone {
            self.remove(source, &uid, change);
        }
        change.removed.sort_by_cached_key(|pod| PodFullName::of(pod));
        for pod in kept {
            self.keep(source, pod, now, change);
        }
    }

    fn put(&mut self, source: &SourceName, pod: Arc<Pod>, now: Timestamp, change: &mut SourceChange) {
        let (uid, name) = (PodUid::of(&pod), PodFullName::of(&pod));
        let duplicate = self.taken_elsewhere(source, &pod);
        let state = self.sources.entry(source.clone()).or_default();
        state.waiting.retain(|waiting| PodUid::of(waiting) != uid);
        if let Some(duplicate) = duplicate {
            state.waiting.push(pod);
            change.duplicates.push(duplicate);
            // It may have had a name before that it could keep.
            return self.remove(source, &uid, change);
        }
        if let Some(other) = state.names.get(&name).filter(|other| **other != uid).cloned() {
            self.remove(source, &other, change);
        }
        self.keep(source, pod, now, change);
    }

    /// Who has the pod's UID, or, of a plugin's pod, its name.
    fn taken_elsewhere(&self, source: &SourceName, pod: &Arc<Pod>) -> Option<Duplicate> {
        let owner = self.owners.get(uid_of(pod)).filter(|owner| *owner != source);
        if let Some(owner) = owner {
            return Some(Duplicate::OwnedBySource { pod: pod.clone(), owner: owner.clone() });
        }
        if !self.plugins.contains(source) {
            return None;
        }
        let name = PodFullName::of(pod);
        let mut others = self.sources.iter().filter(|(other, _)| *other != source);
        let (owner, _) = others.find(|(_, state)| state.names.contains_key(&name))?;
        Some(Duplicate::NameOfSource { pod: pod.clone(), owner: owner.clone() })
    }

    /// Takes in a pod whose UID and name are its source's.
    fn keep(&mut self, source: &SourceName, pod: Arc<Pod>, now: Timestamp, change: &mut SourceChange) {
        let (uid, name) = (PodUid::of(&pod), PodFullName::of(&pod));
        let state = self.sources.entry(source.clone()).or_default();
        let Some(known) = state.pods.get_mut(&uid) else {
            let pod = seen_first(pod, || now.to_string());
            self.owners.insert(uid.clone(), source.clone());
            state.names.insert(name, uid.clone());
            state.pods.insert(uid, pod.clone());
            return change.added.push(pod);
        };
        let (is_other_wish, is_other_status) = (is_other_wish(known, &pod), known.status != pod.status);
        if !is_other_wish && !is_other_status {
            return;
        }
        let old_name = PodFullName::of(known);
        let pod = seen_first(pod, || first_seen(known).unwrap_or_default().to_owned());
        *known = pod.clone();
        if old_name != name && state.names.get(&old_name) == Some(&uid) {
            state.names.remove(&old_name);
        }
        state.names.insert(name, uid);
        if !is_other_wish {
            change.reconciled.push(pod);
        } else if pod.metadata.deletion_timestamp.is_some() {
            change.deleted.push(pod);
        } else {
            change.updated.push(pod);
        }
    }

    fn remove(&mut self, source: &SourceName, uid: &PodUid, change: &mut SourceChange) {
        let Some(state) = self.sources.get_mut(source) else { return };
        let Some(pod) = state.pods.remove(uid) else { return };
        let name = PodFullName::of(&pod);
        if state.names.get(&name) == Some(uid) {
            state.names.remove(&name);
        }
        self.owners.remove(uid);
        change.removed.push(pod);
    }

    /// Returns what follows for other sources: who waited for what this one let go of comes in, and plugins' pods give way to new names.
    fn settle(
        &mut self,
        source: &SourceName,
        change: SourceChange,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        let mut changes = Vec::new();
        let mut next = VecDeque::from([(source.clone(), change)]);
        while let Some((source, change)) = next.pop_front() {
            let let_go = !change.removed.is_empty();
            let taken: Vec<PodFullName> = match self.plugins.contains(&source) {
                true => Vec::new(),
                false => change.added.iter().map(|pod| PodFullName::of(pod)).collect(),
            };
            changes.push((source.clone(), change));
            if !let_go && taken.is_empty() {
                continue;
            }
            let others: Vec<SourceName> =
                self.sources.keys().filter(|other| **other != source).cloned().collect();
            for other in others {
                let mut change = SourceChange::default();
                self.give_way(&other, &source, &taken, &mut change);
                if let_go {
                    self.retry(&other, now, &mut change);
                }
                if !change.is_empty() {
                    next.push_back((other, change));
                }
            }
        }
        changes
    }

    /// A plugin's pods of these names wait until the owner lets go of them.
    fn give_way(
        &mut self,
        source: &SourceName,
        owner: &SourceName,
        taken: &[PodFullName],
        change: &mut SourceChange,
    ) {
        if !self.plugins.contains(source) {
            return;
        }
        for name in taken {
            let Some(state) = self.sources.get_mut(source) else { return };
            let Some(uid) = state.names.get(name).cloned() else { continue };
            let Some(pod) = state.pods.get(&uid).cloned() else { continue };
            state.waiting.push(pod.clone());
            change.duplicates.push(Duplicate::NameOfSource { pod, owner: owner.clone() });
            self.remove(source, &uid, change);
        }
    }

    /// Takes in what waited and needn't any more.
    fn retry(&mut self, source: &SourceName, now: Timestamp, change: &mut SourceChange) {
        let Some(state) = self.sources.get_mut(source) else { return };
        let waiting = std::mem::take(&mut state.waiting);
        for pod in waiting {
            let still_waits = self.taken_elsewhere(source, &pod).is_some();
            let Some(state) = self.sources.get_mut(source) else { return };
            if still_waits {
                state.waiting.push(pod);
            } else if state.pods.contains_key(uid_of(&pod)) {
                change.duplicates.push(Duplicate::Uid { pod });
            } else if state.names.contains_key(&PodFullName::of(&pod)) {
                change.duplicates.push(Duplicate::Name { pod });
            } else {
                self.keep(source, pod, now, change);
            }
        }
    }
}

/// Returns the text as [`PodUid::of`] has it.
fn uid_of(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// The pod with the time when it was seen first, unless its source has written that.
fn seen_first(mut pod: Arc<Pod>, time: impl FnOnce() -> String) -> Arc<Pod> {
    if first_seen(&pod).is_none() {
        set_first_seen(Arc::make_mut(&mut pod), time());
    }
    pod
}

/// Whether spec, labels, annotations or deletion differ (upstream: `podsDifferSemantically`). Annotations that the agent writes for
/// itself don't count, and an empty map is as good as none.
pub fn is_other_wish(old: &Pod, new: &Pod) -> bool {
    let (was, is) = (&old.metadata, &new.metadata);
    was.deletion_timestamp != is.deletion_timestamp
        || was.deletion_grace_period_seconds != is.deletion_grace_period_seconds
        || was.labels.iter().flatten().ne(is.labels.iter().flatten())
        || foreign_annotations(old).ne(foreign_annotations(new))
        || old.spec != new.spec
}

fn foreign_annotations(pod: &Pod) -> impl Iterator<Item = (&String, &String)> {
    let own = [CONFIG_SOURCE, CONFIG_SEEN, CONFIG_MIRROR];
    pod.metadata.annotations.iter().flatten().filter(move |(name, _)| !own.contains(&name.as_str()))
}

//! Full sets of pods, source by source, turned into changes (upstream's `config/config.go`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::pod::static_pod::{CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE};
use crate::pod::{PodFullName, PodUid, SourceName};

#[cfg(test)]
mod tests;

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

impl Duplicate {
    /// Whether the pod comes in once another source lets go of it.
    fn waits(&self) -> bool {
        match self {
            Self::OwnedBySource { .. } | Self::NameOfSource { .. } => true,
            Self::Name { .. } | Self::Uid { .. } => false,
        }
    }
}

/// What one set changed.
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
    /// The change as updates in upstream's order: remove, add, update, delete, reconcile. Removals come first, so that
    /// what a pod held is free for the one that takes its place. A first set without pods is an empty add, so that
    /// whoever waits for all sources learns of it.
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

/// What tells two versions of a pod apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    semantics: [u8; 16],
    status: [u8; 16],
}

#[derive(Clone, Debug)]
struct Known {
    /// As the source last gave it: the same pointer again is no change.
    brought: Arc<Pod>,
    /// As it was handed on.
    current: Arc<Pod>,
    fingerprint: Fingerprint,
}

#[derive(Clone, Debug, Default)]
struct SourceState {
    pods: HashMap<PodUid, Known>,
    /// The last set in full, kept only while pods of it wait for another source to let go of their UIDs or names.
    waiting: Option<Vec<Arc<Pod>>>,
}

impl SourceState {
    fn has_any(&self, names: &HashSet<PodFullName>) -> bool {
        !names.is_empty() && self.pods.values().any(|known| names.contains(&PodFullName::of(&known.current)))
    }

    /// The last set, with what was left out of it and may come in.
    fn last_set(&mut self) -> Vec<Arc<Pod>> {
        self.waiting.take().unwrap_or_else(|| {
            let mut pods: Vec<_> = self.pods.values().map(|known| known.brought.clone()).collect();
            pods.sort_by_cached_key(|pod| PodFullName::of(pod));
            pods
        })
    }
}

/// The last set of each source.
#[derive(Clone, Debug, Default)]
pub struct MergedConfig {
    sources: BTreeMap<SourceName, SourceState>,
    /// Those that are plugins'.
    plugins: BTreeSet<SourceName>,
    /// Those that have told only what they had before the agent started.
    restored: BTreeSet<SourceName>,
    owners: HashMap<PodUid, SourceName>,
}

impl MergedConfig {
    /// Takes a source's full set and tells what it changes, in time linear in the sets. Usually one change; one more
    /// for each other source that waited for a UID which this set let go of.
    pub fn merge(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        self.plugins.remove(source);
        let change = self.merge_all(source, pods, now);
        self.restored.remove(source);
        change
    }

    /// The same for what a source had before the agent started: it stays unseen. A source that was seen knows better, and
    /// nothing changes.
    pub fn restore(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        if self.is_seen(source) {
            return Vec::new();
        }
        self.restored.insert(source.clone());
        self.merge_all(source, pods, now)
    }

    /// The same for a plugin's source, which gives way as it always does.
    pub fn restore_of_plugin(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        if self.is_seen(source) {
            return Vec::new();
        }
        self.plugins.insert(source.clone());
        self.restore(source, pods, now)
    }

    /// The same for a plugin's source, which gives way: a pod of it whose name another source has is left out, until that
    /// source lets go of the name.
    pub fn merge_of_plugin(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        self.plugins.insert(source.clone());
        let changes = self.merge_all(source, pods, now);
        self.restored.remove(source);
        changes
    }

    /// Forgets a source that is gone, as if it had sent an empty set and never been seen.
    pub fn remove_source(&mut self, source: &SourceName, now: Timestamp) -> Vec<(SourceName, SourceChange)> {
        let changes = self.merge_all(source, Vec::new(), now);
        self.sources.remove(source);
        self.plugins.remove(source);
        self.restored.remove(source);
        changes
    }

    fn merge_all(
        &mut self,
        source: &SourceName,
        pods: Vec<Arc<Pod>>,
        now: Timestamp,
    ) -> Vec<(SourceName, SourceChange)> {
        let change = self.merge_one(source, pods, now);
        let let_go = !change.removed.is_empty();
        let taken: HashSet<PodFullName> = match self.plugins.contains(source) {
            true => HashSet::new(),
            false => change.added.iter().map(|pod| PodFullName::of(pod)).collect(),
        };
        let mut changes = vec![(source.clone(), change)];
        let mut affected = Vec::new();
        for (name, state) in self.sources.iter_mut().filter(|(name, _)| *name != source) {
            let gives_way = self.plugins.contains(name) && state.has_any(&taken);
            if (let_go && state.waiting.is_some()) || gives_way {
                affected.push((name.clone(), state.last_set()));
            }
        }
        for (name, pods) in affected {
            let change = self.merge_one(&name, pods, now);
            changes.push((name, change));
        }
        changes
    }

    /// Whether the source has ever sent a set of its own, not one from before the agent's start.
    pub fn is_seen(&self, source: &SourceName) -> bool {
        self.sources.contains_key(source) && !self.restored.contains(source)
    }

    /// How many pods all sources have.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether no source has any.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    fn merge_one(&mut self, source: &SourceName, pods: Vec<Arc<Pod>>, now: Timestamp) -> SourceChange {
        let mut change = SourceChange { first: !self.is_seen(source), ..SourceChange::default() };
        let kept = self.without_duplicates(source, &pods, &mut change.duplicates);
        let waits = change.duplicates.iter().any(Duplicate::waits);
        let state = self.sources.entry(source.clone()).or_default();
        let mut old = std::mem::take(&mut state.pods);
        let mut new = HashMap::with_capacity(kept.len());
        for brought in kept {
            let (uid, known) = match old.remove_entry(uid_of(&brought)) {
                Some((uid, known)) => (uid, known.renewed(brought, &mut change)),
                None => {
                    let uid = PodUid::of(&brought);
                    self.owners.insert(uid.clone(), source.clone());
                    (uid, Known::first(brought, now, &mut change))
                }
            };
            new.insert(uid, known);
        }
        change.removed = old.into_values().map(|known| known.current).collect();
        change.removed.sort_by_cached_key(|pod| PodFullName::of(pod));
        for pod in &change.removed {
            self.owners.remove(&PodUid::of(pod));
        }
        state.pods = new;
        state.waiting = waits.then_some(pods);
        change
    }

    /// Names that a plugin's source must leave to others; none for all other sources.
    fn names_elsewhere(&self, source: &SourceName) -> HashMap<PodFullName, &SourceName> {
        if !self.plugins.contains(source) {
            return HashMap::new();
        }
        let others = self.sources.iter().filter(|(name, _)| *name != source);
        let named = |(name, state): (_, &SourceState)| {
            let pods = state.pods.values();
            pods.map(|known| (PodFullName::of(&known.current), name)).collect::<Vec<_>>()
        };
        others.flat_map(named).collect()
    }

    /// The set without pods whose name or UID is taken; of two in one set the first stays.
    fn without_duplicates(
        &self,
        source: &SourceName,
        pods: &[Arc<Pod>],
        duplicates: &mut Vec<Duplicate>,
    ) -> Vec<Arc<Pod>> {
        let elsewhere = self.names_elsewhere(source);
        let mut names = HashSet::with_capacity(pods.len());
        let mut uids = HashSet::with_capacity(pods.len());
        let mut kept = Vec::with_capacity(pods.len());
        // Sets come many times a second while pods start: nothing is made anew for pods that were there before.
        for pod in pods {
            let (uid, name) = (uid_of(pod), name_of(pod));
            let name_owner = || elsewhere.get(&PodFullName::of(pod));
            if let Some(owner) = self.owners.get(uid).filter(|owner| *owner != source) {
                duplicates.push(Duplicate::OwnedBySource { pod: pod.clone(), owner: owner.clone() });
            } else if !elsewhere.is_empty()
                && let Some(owner) = name_owner()
            {
                duplicates.push(Duplicate::NameOfSource { pod: pod.clone(), owner: (*owner).clone() });
            } else if names.contains(&name) {
                duplicates.push(Duplicate::Name { pod: pod.clone() });
            } else if !uids.insert(uid) {
                duplicates.push(Duplicate::Uid { pod: pod.clone() });
            } else {
                names.insert(name);
                kept.push(pod.clone());
            }
        }
        kept
    }
}

impl Known {
    fn first(brought: Arc<Pod>, now: Timestamp, change: &mut SourceChange) -> Self {
        let fingerprint = Fingerprint::of(&brought);
        let current = match is_stamped(&brought) {
            true => brought.clone(),
            false => with_first_seen(&brought, &now.to_string()),
        };
        change.added.push(current.clone());
        Self { brought, current, fingerprint }
    }

    fn renewed(self, brought: Arc<Pod>, change: &mut SourceChange) -> Self {
        if Arc::ptr_eq(&self.brought, &brought) {
            return self;
        }
        let fingerprint = Fingerprint::of(&brought);
        if fingerprint == self.fingerprint {
            return Self { brought, ..self };
        }
        let first_seen = annotation(&self.current, CONFIG_SEEN).unwrap_or_default();
        let current = with_first_seen(&brought, first_seen);
        if fingerprint.semantics == self.fingerprint.semantics {
            change.reconciled.push(current.clone());
        } else if brought.metadata.deletion_timestamp.is_some() {
            change.deleted.push(current.clone());
        } else {
            change.updated.push(current.clone());
        }
        Self { brought, current, fingerprint }
    }
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// As [`PodUid::of`] has it.
fn uid_of(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// As [`PodFullName::of`] has it.
fn name_of(pod: &Pod) -> (&str, &str) {
    let meta = &pod.metadata;
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

/// The source of the API server's pods writes itself when it saw one: a second copy of each pod for that alone would be most of
/// what pods cost here.
fn is_stamped(pod: &Pod) -> bool {
    annotation(pod, CONFIG_SOURCE) == Some("api") && annotation(pod, CONFIG_SEEN).is_some()
}

fn with_first_seen(pod: &Arc<Pod>, first_seen: &str) -> Arc<Pod> {
    if annotation(pod, CONFIG_SEEN) == Some(first_seen) {
        return pod.clone();
    }
    let mut pod = Pod::clone(pod);
    pod.metadata.annotations.get_or_insert_default().insert(CONFIG_SEEN.to_owned(), first_seen.to_owned());
    Arc::new(pod)
}

impl Fingerprint {
    /// Spec, labels, annotations and deletion on one side, status on the other. Annotations that the agent writes for
    /// itself don't count, and an empty map is as good as none.
    fn of(pod: &Pod) -> Self {
        #[derive(Serialize)]
        struct Semantics<'a> {
            spec: &'a Option<k8s_openapi::api::core::v1::PodSpec>,
            labels: Vec<(&'a String, &'a String)>,
            annotations: Vec<(&'a String, &'a String)>,
            deletion: &'a Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,
            grace: Option<i64>,
        }
        let own = [CONFIG_SOURCE, CONFIG_SEEN, CONFIG_MIRROR];
        let meta = &pod.metadata;
        Self {
            semantics: fingerprint(&Semantics {
                spec: &pod.spec,
                labels: meta.labels.iter().flatten().collect(),
                annotations: meta
                    .annotations
                    .iter()
                    .flatten()
                    .filter(|(name, _)| !own.contains(&name.as_str()))
                    .collect(),
                deletion: &meta.deletion_timestamp,
                grace: meta.deletion_grace_period_seconds,
            }),
            status: fingerprint(&pod.status),
        }
    }
}

/// 128 bits are enough that nobody meets a collision, by chance or on purpose.
fn fingerprint(value: &impl Serialize) -> [u8; 16] {
    let bytes =
        serde_json::to_vec(value).expect("parts of a pod have only string keys, so they always become JSON");
    let digest = Sha256::digest(&bytes);
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

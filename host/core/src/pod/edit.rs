//! Edits of a running pod that admission is asked about: images of its containers, and ephemeral containers.
//!
//! The pod goes on with what was accepted while an edit of it is asked about, and after it was refused. A refused edit is asked about
//! again when the edit or the handlers change; one that was put off also when its time has come, which is the admission queue's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use serde::{Deserialize, Serialize};

use crate::admission::{Decision, Operation};
use crate::status::{EditKind, PendingEdit, PendingEditReason};

#[cfg(test)]
mod tests;

/// Returns what admission is asked about such an edit.
pub fn operation(kind: EditKind) -> Operation {
    match kind {
        EditKind::Images => Operation::Update,
        EditKind::EphemeralContainers => Operation::Ephemeral,
    }
}

/// Returns what a decision about an edit of this pod leaves pending; none if the edit is admitted.
pub fn pending(kind: EditKind, pod: &Pod, decision: &Decision) -> Option<PendingEdit> {
    let (reason, message) = match decision {
        Decision::Admit => return None,
        Decision::Reject { reason, message, .. } => {
            (PendingEditReason::Rejected, format!("{reason}: {message}"))
        }
        Decision::Defer { reason, message, .. } => {
            (PendingEditReason::Deferred, format!("{reason}: {message}"))
        }
        // No one is ended for a pod that runs.
        Decision::Preempt { message, .. } => (PendingEditReason::Rejected, message.clone()),
    };
    Some(PendingEdit { kind, reason, message, generation: pod.metadata.generation })
}

/// What of a pod's containers was accepted, as far as an edit can change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedContainers {
    /// The images of init and app containers, by the containers' names.
    images: BTreeMap<String, String>,
    /// Names of ephemeral containers, which never change once they are there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    ephemeral: BTreeSet<String>,
}

/// Names of containers that an edit changes, with the images that they are to have.
type EditedContainers = Vec<(String, String)>;

impl AcceptedContainers {
    /// Accepts all that the pod has.
    pub fn of(pod: &Pod) -> Self {
        let spec = pod.spec.as_ref();
        let images = spec.into_iter().flat_map(containers);
        let images = images.filter_map(|container| Some((container.name.clone(), container.image.clone()?)));
        let ephemeral = spec.and_then(|spec| spec.ephemeral_containers.as_ref()).into_iter().flatten();
        Self { images: images.collect(), ephemeral: ephemeral.map(|added| added.name.clone()).collect() }
    }

    /// Whether the pod has an edit of this kind that isn't accepted.
    pub fn is_edited(&self, kind: EditKind, pod: &Pod) -> bool {
        !self.edited(kind, pod).is_empty()
    }

    fn edited(&self, kind: EditKind, pod: &Pod) -> EditedContainers {
        let Some(spec) = &pod.spec else { return Vec::new() };
        let image = |image: &Option<String>| image.clone().unwrap_or_default();
        match kind {
            EditKind::Images => containers(spec)
                .filter(|found| {
                    self.images.get(&found.name).is_some_and(|had| found.image.as_ref() != Some(had))
                })
                .map(|found| (found.name.clone(), image(&found.image)))
                .collect(),
            EditKind::EphemeralContainers => {
                let all = spec.ephemeral_containers.iter().flatten();
                let added = all.filter(|found| !self.ephemeral.contains(&found.name));
                added.map(|found| (found.name.clone(), image(&found.image))).collect()
            }
        }
    }

    /// The pod with what was accepted in place of its edits of these kinds.
    pub fn without_edits(&self, pod: &Arc<Pod>, kinds: impl IntoIterator<Item = EditKind>) -> Arc<Pod> {
        let mut pod = pod.clone();
        for kind in kinds {
            if let Some(spec) = &mut Arc::make_mut(&mut pod).spec {
                self.take_back(kind, spec);
            }
        }
        pod
    }

    fn take_back(&self, kind: EditKind, spec: &mut PodSpec) {
        match kind {
            EditKind::Images => {
                let init = spec.init_containers.iter_mut().flatten();
                for container in init.chain(&mut spec.containers) {
                    if let Some(image) = self.images.get(&container.name) {
                        container.image = Some(image.clone());
                    }
                }
            }
            EditKind::EphemeralContainers => {
                if let Some(all) = &mut spec.ephemeral_containers {
                    all.retain(|container| self.ephemeral.contains(&container.name));
                }
                spec.ephemeral_containers = spec.ephemeral_containers.take().filter(|all| !all.is_empty());
            }
        }
    }
}

fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// How far the edits of one admitted pod have come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Those that nothing is made of: they are asked about, or weren't admitted.
    held: BTreeMap<EditKind, HeldEdit>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HeldEdit {
    containers: EditedContainers,
    pending: Option<PendingEdit>,
    /// What an event has said of it.
    reported: Option<PendingEditReason>,
}

/// What edits are considered with.
#[derive(Clone, Copy)]
pub struct EditFacts<'a> {
    /// The pod as its source has it.
    pub pod: &'a Pod,
    pub accepted: &'a AcceptedContainers,
    /// Whether any handler answers questions of this kind; without one the edit is accepted.
    pub is_answered: &'a dyn Fn(Operation) -> bool,
    /// The pod is to end, or has.
    pub is_ending: bool,
    /// The handlers aren't those that were asked last.
    pub handlers_changed: bool,
}

/// What the agent has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Put the edit to the admission handlers, in place of any of its kind before.
    Ask(EditKind),
    StopAsking(EditKind),
    /// An edit that was held is accepted: the pod is made as it says once that is on disk.
    Accept,
    Warn {
        reason: String,
        message: String,
    },
    /// Sync the pod: a condition of its edits changed.
    Sync,
}

impl Edits {
    /// The kinds of edits that nothing is made of.
    pub fn held(&self) -> impl Iterator<Item = EditKind> + '_ {
        self.held.keys().copied()
    }

    /// Returns what the pod's conditions say; empty if no edit was refused or put off.
    pub fn pending(&self) -> impl Iterator<Item = &PendingEdit> {
        self.held.values().filter_map(|held| held.pending.as_ref())
    }

    /// The pod, what of it was accepted, or the handlers changed.
    pub fn consider(&mut self, facts: EditFacts<'_>) -> Vec<Effect> {
        EditKind::ALL.into_iter().flat_map(|kind| self.consider_kind(kind, facts)).collect()
    }

    fn consider_kind(&mut self, kind: EditKind, facts: EditFacts<'_>) -> Vec<Effect> {
        let EditFacts { pod, accepted, is_answered, is_ending, handlers_changed } = facts;
        let containers = accepted.edited(kind, pod);
        if containers.is_empty() {
            let Some(withdrawn) = self.held.remove(&kind) else { return Vec::new() };
            let sync = withdrawn.pending.map(|_| Effect::Sync);
            return std::iter::once(Effect::StopAsking(kind)).chain(sync).collect();
        }
        if !is_ending && !is_answered(operation(kind)) {
            let was_held = self.held.remove(&kind).is_some();
            return if was_held { vec![Effect::StopAsking(kind), Effect::Accept] } else { Vec::new() };
        }
        let held = self.held.entry(kind).or_default();
        let is_new = held.containers != containers;
        if is_new {
            (held.containers, held.reported) = (containers, None);
        }
        if is_ending {
            return vec![Effect::StopAsking(kind)];
        }
        let is_rejected =
            held.pending.as_ref().is_some_and(|pending| pending.reason == PendingEditReason::Rejected);
        if is_new || (is_rejected && handlers_changed) { vec![Effect::Ask(kind)] } else { Vec::new() }
    }

    /// The handlers' decision about an edit stands.
    pub fn decided(&mut self, kind: EditKind, pod: &Pod, decision: &Decision) -> Vec<Effect> {
        let Some(held) = self.held.get_mut(&kind) else { return Vec::new() };
        let Some(pending) = pending(kind, pod, decision) else {
            self.held.remove(&kind);
            return vec![Effect::Accept];
        };
        let mut effects = Vec::new();
        if held.reported != Some(pending.reason) {
            held.reported = Some(pending.reason);
            effects.extend(warning(kind, decision));
        }
        if held.pending.as_ref() != Some(&pending) {
            held.pending = Some(pending);
            effects.push(Effect::Sync);
        }
        effects
    }
}

fn warning(kind: EditKind, decision: &Decision) -> Option<Effect> {
    let (reason, message, is_final) = match decision {
        Decision::Admit => return None,
        Decision::Reject { reason, message, .. } => (reason.as_str(), message, true),
        Decision::Defer { reason, message, .. } => (reason.as_str(), message, false),
        Decision::Preempt { message, .. } => (PendingEditReason::Rejected.as_str(), message, true),
    };
    let what = match (kind, is_final) {
        (EditKind::Images, true) => "Image update rejected, the containers keep their images",
        (EditKind::Images, false) => "Image update deferred, the containers keep their images",
        (EditKind::EphemeralContainers, true) => "Ephemeral containers rejected",
        (EditKind::EphemeralContainers, false) => "Ephemeral containers deferred",
    };
    Some(Effect::Warn { reason: reason.to_owned(), message: format!("{what}: {message}") })
}

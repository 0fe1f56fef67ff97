//! Two lists of the runtime become events: the rules of the kubelet's generic PLEG.

use std::collections::HashMap;

use crate::pod::PodUid;
use crate::runtime::{ContainerId, ContainerRunState, RuntimePod, SandboxId, SandboxState};

/// Kind of a change that relisting the runtime found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlegEventKind {
    ContainerStarted,
    ContainerDied,
    /// It is gone from the runtime.
    ContainerRemoved,
    /// It is neither known to run nor known to have ended.
    ContainerChanged,
    /// The pod could not be checked before, and now it was.
    PodSync,
}

/// To what it happened. Sandboxes count like containers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlegSubject {
    Container(ContainerId),
    Sandbox(SandboxId),
    /// The pod as a whole.
    Pod,
}

/// A change in the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlegEvent {
    pub uid: PodUid,
    pub subject: PlegSubject,
    pub kind: PlegEventKind,
}

impl PlegEvent {
    /// The event of a pod that was checked again after that had failed.
    pub fn pod_sync(uid: PodUid) -> Self {
        Self { uid, subject: PlegSubject::Pod, kind: PlegEventKind::PodSync }
    }

    /// Whether the pod has to be synced because of it. A removal changes nothing that a pod shows.
    pub fn is_worth_a_sync(&self) -> bool {
        match self.kind {
            PlegEventKind::ContainerStarted
            | PlegEventKind::ContainerDied
            | PlegEventKind::ContainerChanged
            | PlegEventKind::PodSync => true,
            PlegEventKind::ContainerRemoved => false,
        }
    }
}

/// States as far as events tell them apart. The kubelet has no use for "created", and counts it as unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Exited,
    Unknown,
}

/// The events of one pod between two lists, in the order of the new list, the gone ones after it in the order of the
/// old list. None in place of a list means that it didn't have the pod. Takes time in proportion to both lists.
pub fn diff(old: Option<&RuntimePod>, new: Option<&RuntimePod>) -> Vec<PlegEvent> {
    // Most pods are as they were, each second.
    if old == new {
        return Vec::new();
    }
    let Some(uid) = new.or(old).map(|pod| pod.uid.clone()) else {
        return Vec::new();
    };
    let before: HashMap<PlegSubject, State> = old.into_iter().flat_map(states).collect();
    let after: HashMap<PlegSubject, State> = new.into_iter().flat_map(states).collect();
    let mut events = Vec::new();
    let mut push = |subject: PlegSubject, kind| events.push(PlegEvent { uid: uid.clone(), subject, kind });
    for (subject, state) in new.into_iter().flat_map(states) {
        if before.get(&subject) == Some(&state) {
            continue;
        }
        let kind = match state {
            State::Running => PlegEventKind::ContainerStarted,
            State::Exited => PlegEventKind::ContainerDied,
            State::Unknown => PlegEventKind::ContainerChanged,
        };
        push(subject, kind);
    }
    for (subject, state) in old.into_iter().flat_map(states) {
        if after.contains_key(&subject) {
            continue;
        }
        match state {
            // Its end was reported before.
            State::Exited => {}
            State::Running | State::Unknown => push(subject.clone(), PlegEventKind::ContainerDied),
        }
        push(subject, PlegEventKind::ContainerRemoved);
    }
    events
}

fn states(pod: &RuntimePod) -> impl Iterator<Item = (PlegSubject, State)> {
    let sandboxes = pod.sandboxes.iter().map(|sandbox| {
        let state = match sandbox.state {
            SandboxState::Ready => State::Running,
            SandboxState::NotReady => State::Exited,
        };
        (PlegSubject::Sandbox(sandbox.id.clone()), state)
    });
    let containers = pod.containers.iter().map(|container| {
        let state = match container.state {
            ContainerRunState::Running => State::Running,
            ContainerRunState::Exited => State::Exited,
            ContainerRunState::Created | ContainerRunState::Unknown => State::Unknown,
        };
        (PlegSubject::Container(container.id.clone()), state)
    });
    sandboxes.chain(containers)
}

#[cfg(test)]
mod tests;

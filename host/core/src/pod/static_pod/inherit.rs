//! UIDs of static pods that a kubelet of another release, or an earlier build of this agent, started: a pod whose manifest didn't change
//! since goes on under the UID that it runs with, and goes back to such a kubelet under it.
//!
//! A kubelet hashes how the types of its release print ([`super::uid`] has those of 1.36; early builds of this agent hashed otherwise). So
//! where what runs has another UID, that is taken over if name, kind of source and content agree: the file wasn't changed since the pod's
//! sandbox was made.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::{CONFIG_HASH, PodFullName, PodUid};
use crate::runtime::{RuntimePod, SandboxState};

#[cfg(test)]
mod tests;

/// Digits of a UID that was hashed from a manifest, the kubelet's and this agent's.
const HASH_LENGTH: usize = 32;
/// UIDs that are remembered; a node has fewer static pods.
const UIDS_MAX: usize = 1024;

/// A static pod that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    uid: PodUid,
    /// Of the oldest sandbox that is ready.
    made_at: Timestamp,
}

/// The UIDs that static pods take over from what runs.
#[derive(Clone, Debug, Default)]
pub struct InheritedUids {
    running: BTreeMap<PodFullName, Running>,
    /// By the UID that this agent hashes.
    taken: BTreeMap<String, String>,
}

impl InheritedUids {
    /// From what the runtime lists at the start and what was taken over in an earlier run of the agent, of which that stays whose pod
    /// still runs: its file may have been touched since.
    pub fn new(pods: &[RuntimePod], earlier: BTreeMap<String, String>) -> Self {
        let mut running = BTreeMap::new();
        let mut uids = Vec::new();
        for pod in pods.iter().filter(|pod| is_hash(pod.uid.as_str())) {
            let ready = pod.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready);
            let Some(made_at) = ready.map(|sandbox| sandbox.created_at).min() else { continue };
            uids.push(pod.uid.as_str());
            let of_pod = Running { uid: pod.uid.clone(), made_at };
            let known =
                running.entry(PodFullName::new(&pod.namespace, &pod.name)).or_insert_with(|| of_pod.clone());
            if known.made_at < made_at {
                *known = of_pod;
            }
        }
        let is_running = |uid: &String| uids.contains(&uid.as_str());
        let taken = earlier.into_iter().filter(|(_, uid)| is_running(uid)).take(UIDS_MAX).collect();
        Self { running, taken }
    }

    /// Whether there is nothing to take over.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Gives the pod the UID that it runs with. `changed_at` is when its file was changed last; none where that isn't known for sure.
    /// A pod that someone gave a UID keeps it.
    pub fn apply(&mut self, pod: &mut Pod, changed_at: Option<Timestamp>) {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        let Some(own) = pod.metadata.uid.clone().filter(|uid| annotations.get(CONFIG_HASH) == Some(uid))
        else {
            return;
        };
        if !is_hash(&own) {
            return;
        }
        let taken = match self.taken.get(&own) {
            Some(taken) => taken.clone(),
            None => {
                let Some(found) = self.find(pod, &own, changed_at) else { return };
                if self.taken.len() >= UIDS_MAX {
                    return;
                }
                self.taken.insert(own, found.clone());
                found
            }
        };
        pod.metadata.annotations.get_or_insert_default().insert(CONFIG_HASH.to_owned(), taken.clone());
        pod.metadata.uid = Some(taken);
    }

    fn find(&self, pod: &Pod, own: &str, changed_at: Option<Timestamp>) -> Option<String> {
        let running = self.running.get(&PodFullName::of(pod))?;
        let is_older = changed_at.is_some_and(|changed_at| changed_at < running.made_at);
        (is_older && running.uid.as_str() != own).then(|| running.uid.as_str().to_owned())
    }

    /// Returns what was taken over, by the UID that this agent hashes: to be kept for the next start.
    pub fn taken(&self) -> &BTreeMap<String, String> {
        &self.taken
    }
}

fn is_hash(uid: &str) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    uid.len() == HASH_LENGTH && uid.bytes().all(is_digit)
}

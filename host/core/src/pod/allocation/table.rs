//! The allocations of all pods, in the form that is saved.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Allocation;
use crate::go::fnv1a;
use crate::pod::PodUid;

/// The saved resources of pods can't be used.
#[derive(Debug, Error)]
pub enum AllocationError {
    /// They aren't JSON of the form.
    #[error("failed to read allocated resources")]
    Malformed(#[source] serde_json::Error),
    /// They aren't as they were written.
    #[error("checksum of allocated resources is {found}, expected {expected}")]
    Checksum {
        /// Of what was read.
        found: u64,
        /// As it was written.
        expected: u64,
    },
}

/// What each pod was allocated, or its running containers were last given. Saved, so that a restarted agent doesn't take a wish
/// that was never granted for an allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocations {
    pods: BTreeMap<PodUid, Allocation>,
}

/// A kubelet's checkpoint (upstream: `allocation/state`).
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    /// [`Entries`] as JSON.
    data: String,
    checksum: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Entries {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    entries: BTreeMap<PodUid, Allocation>,
}

/// Upstream's checksum of a text: of what its dump helper prints of it.
fn checksum(data: &str) -> u64 {
    u64::from(fnv1a(&format!("(string){data}")))
}

impl Allocations {
    /// Returns what the pod was allocated, if anything was recorded.
    pub fn get(&self, uid: &PodUid) -> Option<&Allocation> {
        self.pods.get(uid)
    }

    /// Records what the pod was allocated. Says whether anything has to be saved.
    pub fn set(&mut self, uid: &PodUid, allocation: Allocation) -> bool {
        self.pods.insert(uid.clone(), allocation.clone()).is_none_or(|before| before != allocation)
    }

    /// An admitted pod has another spec now ([`Allocation::revise`]). One of which nothing was recorded has what it asks for.
    /// Says whether anything has to be saved.
    pub fn revise(&mut self, pod: &Pod) -> bool {
        let uid = PodUid::of(pod);
        let mut allocation = self.pods.get(&uid).cloned().unwrap_or_else(|| Allocation::of(pod));
        allocation.revise(pod);
        self.set(&uid, allocation)
    }

    /// The pod with what it was allocated; as it is, if nothing was recorded.
    pub fn apply(&self, pod: &Pod) -> Pod {
        match self.pods.get(&PodUid::of(pod)) {
            Some(allocation) => allocation.apply(pod),
            None => pod.clone(),
        }
    }

    /// Forgets all pods that aren't desired. Says whether anything has to be saved.
    pub fn retain(&mut self, keep: impl Fn(&PodUid) -> bool) -> bool {
        let before = self.pods.len();
        self.pods.retain(|uid, _| keep(uid));
        self.pods.len() != before
    }

    /// How many pods have one.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// A running container of the pod was given its resources.
    pub fn set_container(&mut self, pod: &Pod, container: &Container) {
        self.pods.entry(PodUid::of(pod)).or_default().set_container(pod, container);
    }

    /// The form that is saved: a kubelet's, which takes over what it finds.
    pub fn encode(&self) -> Vec<u8> {
        let json = "maps with text keys always have a JSON form";
        let data = serde_json::to_string(&Entries { entries: self.pods.clone() }).expect(json);
        let checksum = checksum(&data);
        serde_json::to_vec(&Checkpoint { data, checksum }).expect(json)
    }

    /// Reads what `encode`, or a kubelet, wrote.
    ///
    /// # Errors
    /// The bytes aren't JSON of this form, or aren't as they were written.
    pub fn decode(bytes: &[u8]) -> Result<Self, AllocationError> {
        let saved: Checkpoint = serde_json::from_slice(bytes).map_err(AllocationError::Malformed)?;
        let found = checksum(&saved.data);
        if found != saved.checksum {
            return Err(AllocationError::Checksum { found, expected: saved.checksum });
        }
        let Entries { entries } = serde_json::from_str(&saved.data).map_err(AllocationError::Malformed)?;
        Ok(Self { pods: entries })
    }
}

//! The allocations of all pods, in the form that is saved.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Allocation;
use crate::pod::PodUid;

/// The form that this release writes and reads.
const VERSION: u32 = 1;

/// The saved allocations can't be used.
#[derive(Debug, Error)]
pub enum AllocationError {
    /// They aren't what `encode` writes.
    #[error("read the allocated resources")]
    Malformed(#[source] serde_json::Error),
    /// Another release wrote them, in a form that this one doesn't know.
    #[error("the allocated resources have version {found}, this release reads {VERSION}")]
    Version {
        /// What they say they are.
        found: u32,
    },
}

/// What each pod was allocated. Saved, so that a restarted agent doesn't take a wish that was never granted for an
/// allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocations {
    pods: BTreeMap<PodUid, Allocation>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    pods: BTreeMap<PodUid, Allocation>,
}

impl Allocations {
    /// What the pod was allocated, if anything was recorded.
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

    /// Forgets all pods that aren't wanted. Says whether anything has to be saved.
    pub fn retain(&mut self, wanted: impl Fn(&PodUid) -> bool) -> bool {
        let before = self.pods.len();
        self.pods.retain(|uid, _| wanted(uid));
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

    /// The form that is saved.
    pub fn encode(&self) -> Vec<u8> {
        let saved = Saved { version: VERSION, pods: self.pods.clone() };
        serde_json::to_vec(&saved).expect("maps with text keys always have a JSON form")
    }

    /// Reads what `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, AllocationError> {
        let saved: Saved = serde_json::from_slice(bytes).map_err(AllocationError::Malformed)?;
        if saved.version != VERSION {
            return Err(AllocationError::Version { found: saved.version });
        }
        Ok(Self { pods: saved.pods })
    }
}

//! Which pods were admitted, so that a restarted agent doesn't judge again what already runs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodSpec, ResourceRequirements};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::container::hash::digest_json;
use crate::pod::PodUid;

/// The form that this release writes and reads.
const VERSION: u32 = 1;
/// Resources that a running pod can ask more or less of (KEP-1287).
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

/// The saved memory can't be used.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// It isn't what `encode` writes.
    #[error("read the memory of admitted pods")]
    Malformed(#[source] serde_json::Error),
    /// Another release wrote it, in a form that this one doesn't know.
    #[error("the memory of admitted pods has version {found}, this release reads {VERSION}")]
    Version {
        /// What it says it is.
        found: u32,
    },
}

/// Admitted pods by UID, each with the hash of the spec that was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionMemory {
    admitted: BTreeMap<PodUid, String>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    admitted: BTreeMap<PodUid, String>,
}

impl AdmissionMemory {
    /// The pod was admitted as it is. Says whether anything has to be saved.
    pub fn remember(&mut self, pod: &Pod) -> bool {
        let hash = judged_hash(pod);
        self.admitted.insert(PodUid::of(pod), hash.clone()).is_none_or(|before| before != hash)
    }

    /// The pod is gone. Says whether anything has to be saved.
    pub fn forget(&mut self, uid: &PodUid) -> bool {
        self.admitted.remove(uid).is_some()
    }

    /// Forgets all pods that aren't wanted. Says whether anything has to be saved.
    pub fn retain(&mut self, wanted: impl Fn(&PodUid) -> bool) -> bool {
        let before = self.admitted.len();
        self.admitted.retain(|uid, _| wanted(uid));
        self.admitted.len() != before
    }

    /// Whether the verdict on this pod stands: it was admitted with this very spec, resizable resources aside, and it
    /// has a sandbox, without which nothing of it runs and judging it again harms nobody.
    pub fn is_remembered(&self, pod: &Pod, has_sandbox: bool) -> bool {
        has_sandbox && self.admitted.get(&PodUid::of(pod)).is_some_and(|hash| *hash == judged_hash(pod))
    }

    /// How many pods are remembered.
    pub fn len(&self) -> usize {
        self.admitted.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.admitted.is_empty()
    }

    /// The form that is saved.
    pub fn encode(&self) -> Vec<u8> {
        let saved = Saved { version: VERSION, admitted: self.admitted.clone() };
        serde_json::to_vec(&saved).expect("a map of texts always has a JSON form")
    }

    /// Reads what `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, MemoryError> {
        let saved: Saved = serde_json::from_slice(bytes).map_err(MemoryError::Malformed)?;
        if saved.version != VERSION {
            return Err(MemoryError::Version { found: saved.version });
        }
        Ok(Self { admitted: saved.admitted })
    }
}

/// Hash of what admission judges: the whole spec but CPU and memory of its containers, which a resize may change and
/// then has judged on its own.
fn judged_hash(pod: &Pod) -> String {
    let mut spec = pod.spec.clone().unwrap_or_default();
    for resources in resizable_of(&mut spec).flatten() {
        for amounts in [&mut resources.requests, &mut resources.limits].into_iter().flatten() {
            amounts.retain(|name, _| !RESIZABLE.contains(&name.as_str()));
        }
    }
    digest_json(&spec)
}

fn resizable_of(spec: &mut PodSpec) -> impl Iterator<Item = Option<&mut ResourceRequirements>> {
    let init = spec.init_containers.iter_mut().flatten();
    let containers = spec.containers.iter_mut().chain(init).map(|container| container.resources.as_mut());
    containers.chain([spec.resources.as_mut()])
}

#[cfg(test)]
mod tests;

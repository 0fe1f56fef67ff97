//! Which host ids a pod with a user namespace of its own gets (KEP-127; upstream: `userns/userns_manager.go`).
//!
//! Each pod has 65,536 user and group ids that no other pod on the node has. The host's own first 65,536 are no one's.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PodUid;
use crate::runtime::{IdMapping, UserNamespace};

#[cfg(test)]
mod tests;

mod range;

pub use range::{IdRange, IdRangeError};

/// User and group ids of one pod.
pub const IDS_PER_POD: u32 = 65_536;
/// Pods that can be given ids of their own at the same time.
pub const PODS_MAX: u32 = 1024;

/// A pod can't have a user namespace.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum UserNamespaceError {
    /// All ranges are taken.
    #[error("could not find an empty slot to allocate a user namespace")]
    NoneFree,
    /// A range that a pod is said to have isn't one of ours, or another pod's.
    #[error("the range of IDs from {first_id} is invalid, or another pod has it")]
    BadRange {
        /// First id of the range.
        first_id: u32,
    },
}

/// A `userns` file of a pod's folder makes no sense.
#[derive(Debug, Error)]
pub enum UserNamespaceFileError {
    /// It isn't JSON of the form.
    #[error("invalid user namespace mappings file")]
    Malformed(#[source] serde_json::Error),
    /// It maps something else than one range for users and groups, with root in it.
    #[error("invalid user namespace configuration: {problem}")]
    Mapping { problem: &'static str },
    /// Its range isn't one of ours, or another pod's.
    #[error(transparent)]
    Range(#[from] UserNamespaceError),
}

/// The kubelet's file of a pod's ids, `<root>/pods/<uid>/userns`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MappingsFile {
    uid_mappings: Vec<Mapping>,
    gid_mappings: Vec<Mapping>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mapping {
    host_id: u32,
    container_id: u32,
    length: u32,
}

/// The content of the kubelet's file for these ids, so that a kubelet which takes this node over keeps them.
pub fn to_file(ids: &UserNamespace) -> Vec<u8> {
    let mapping =
        |id: &IdMapping| Mapping { host_id: id.host_id, container_id: id.container_id, length: id.length };
    let file = MappingsFile {
        uid_mappings: ids.uids.iter().map(mapping).collect(),
        gid_mappings: ids.gids.iter().map(mapping).collect(),
    };
    serde_json::to_vec(&file).expect("numbers under fixed names always have a JSON form")
}

/// The first host id of the kubelet's file (upstream: `parseUserNsFileAndRecord`).
fn first_id_of_file(content: &[u8]) -> Result<u32, UserNamespaceFileError> {
    let file: MappingsFile = serde_json::from_slice(content).map_err(UserNamespaceFileError::Malformed)?;
    let wrong = |problem| UserNamespaceFileError::Mapping { problem };
    let ([uids], [gids]) = (file.uid_mappings.as_slice(), file.gid_mappings.as_slice()) else {
        return Err(wrong("no more than one mapping allowed"));
    };
    if uids != gids {
        return Err(wrong("GID and UID mapping should be identical"));
    }
    if uids.container_id != 0 {
        return Err(wrong("UID 0 must be mapped"));
    }
    if uids.length != IDS_PER_POD {
        return Err(wrong("wrong user namespace length"));
    }
    Ok(uids.host_id)
}

/// Whether the pod asks for ids of its own (`hostUsers: false`).
pub fn wants_own(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.host_users == Some(false))
}

/// Ranges of ids that pods have. As JSON it is what must outlive the agent, for pods that run keep their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserNamespaces {
    /// First host id by pod.
    first_ids: BTreeMap<PodUid, u32>,
    #[serde(skip)]
    range: IdRange,
}

impl UserNamespaces {
    /// Creates an allocator without allocations for this range.
    pub fn of_range(range: IdRange) -> Self {
        Self { first_ids: BTreeMap::new(), range }
    }

    /// The same ranges, which have to lie in this one. Nothing is changed if one doesn't.
    ///
    /// # Errors
    /// A range lies outside of these ids.
    pub fn within(self, range: IdRange) -> Result<Self, UserNamespaceError> {
        let mut moved = Self::of_range(range);
        self.first_ids.iter().try_for_each(|(uid, first_id)| moved.restore(uid, *first_id))?;
        Ok(moved)
    }

    /// The pod's ids: those that it has, else the lowest free range, which it has from now on.
    ///
    /// # Errors
    /// All ranges are in use.
    pub fn allocate(&mut self, uid: &PodUid) -> Result<UserNamespace, UserNamespaceError> {
        if let Some(namespace) = self.of(uid) {
            return Ok(namespace);
        }
        let mut taken = vec![false; self.range.pods_max() as usize];
        for slot in self.first_ids.values().filter_map(|first_id| self.range.slot(*first_id)) {
            if let Some(taken) = taken.get_mut(slot as usize) {
                *taken = true;
            }
        }
        let free = (0_u32..).zip(taken).find(|(_, taken)| !taken).map(|(slot, _)| slot);
        let first_id = self.range.first_id(free.ok_or(UserNamespaceError::NoneFree)?);
        self.first_ids.insert(uid.clone(), first_id);
        Ok(namespace(first_id))
    }

    /// Notes a range that a pod has from before the agent's start.
    ///
    /// # Errors
    /// The range isn't one of these ids, or belongs to another pod.
    pub fn restore(&mut self, uid: &PodUid, first_id: u32) -> Result<(), UserNamespaceError> {
        let anothers = self.first_ids.iter().any(|(other, taken)| *taken == first_id && other != uid);
        let moved = self.first_ids.get(uid).is_some_and(|known| *known != first_id);
        if anothers || moved || self.range.slot(first_id).is_none() {
            return Err(UserNamespaceError::BadRange { first_id });
        }
        self.first_ids.insert(uid.clone(), first_id);
        Ok(())
    }

    /// Notes what the kubelet's file of a pod says that ran before the agent's start.
    ///
    /// # Errors
    /// The file can't be read, or its range can't be restored.
    pub fn restore_from_file(&mut self, uid: &PodUid, content: &[u8]) -> Result<(), UserNamespaceFileError> {
        Ok(self.restore(uid, first_id_of_file(content)?)?)
    }

    /// The ids that the pod has.
    pub fn of(&self, uid: &PodUid) -> Option<UserNamespace> {
        self.first_ids.get(uid).copied().map(namespace)
    }

    /// Gives up the ids of all pods but these. Nothing of the others may run any more.
    pub fn retain(&mut self, keep: impl Fn(&PodUid) -> bool) {
        self.first_ids.retain(|uid, _| keep(uid));
    }
}

fn namespace(first_id: u32) -> UserNamespace {
    let ids = vec![IdMapping { host_id: first_id, container_id: 0, length: IDS_PER_POD }];
    UserNamespace { uids: ids.clone(), gids: ids }
}

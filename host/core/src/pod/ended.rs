//! How pods ended, as long as a restarted agent has to know it. What is saved comes in parts, so that the end of one pod
//! writes a small share of them, and each part has a bound.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, PodStatus};

use super::PodUid;
use crate::go::fnv1a;

#[cfg(test)]
mod tests;

/// So many parts there are.
pub const PARTS: u8 = 32;
/// Bytes of one part at most; below what a state file may have.
pub const PART_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of a message that is cut.
const CUT_MESSAGE_BYTES_MAX: usize = 256;

/// Last statuses by pod, and which parts aren't saved as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndedPods {
    pods: BTreeMap<PodUid, PodStatus>,
    changed: BTreeSet<u8>,
    /// Parts that were taken to be saved last.
    taken: BTreeSet<u8>,
}

/// One part, to be written whole.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedPart {
    /// Which.
    pub number: u8,
    pods: BTreeMap<PodUid, PodStatus>,
}

impl EndedPods {
    /// The last status of a pod that has ended.
    pub fn get(&self, uid: &PodUid) -> Option<&PodStatus> {
        self.pods.get(uid)
    }

    /// The pod has ended for good, with this status.
    pub fn insert(&mut self, uid: &PodUid, status: &PodStatus) {
        if self.pods.get(uid) != Some(status) {
            self.pods.insert(uid.clone(), status.clone());
            self.changed.insert(part_of(uid));
        }
    }

    /// The pod is gone, or begins again.
    pub fn remove(&mut self, uid: &PodUid) {
        if self.pods.remove(uid).is_some() {
            self.changed.insert(part_of(uid));
        }
    }

    /// Forgets all pods that aren't wanted.
    pub fn retain(&mut self, wanted: impl Fn(&PodUid) -> bool) {
        let Self { pods, changed, taken: _ } = self;
        pods.retain(|uid, _| {
            let stays = wanted(uid);
            if !stays {
                changed.insert(part_of(uid));
            }
            stays
        });
    }

    /// Takes over what was saved, in a part or as one whole. Pods that are known already stay as they are.
    pub fn add_saved(&mut self, bytes: &[u8]) -> Result<(), serde_json::Error> {
        let saved: BTreeMap<PodUid, PodStatus> = serde_json::from_slice(bytes)?;
        for (uid, status) in saved {
            self.pods.entry(uid).or_insert(status);
        }
        Ok(())
    }

    /// Whether anything has to be saved.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// All parts have to be saved, whatever is on disk.
    pub fn set_changed(&mut self) {
        self.changed = (0..PARTS).collect();
    }

    /// Those that were taken last couldn't be saved.
    pub fn not_saved(&mut self) {
        self.changed.extend(&self.taken);
    }

    /// The parts that have to be saved, which count as saved from here on unless [`EndedPods::not_saved`] is called.
    pub fn take_changed(&mut self) -> Vec<EndedPart> {
        let changed = std::mem::take(&mut self.changed);
        self.taken.clone_from(&changed);
        let mut parts: BTreeMap<u8, BTreeMap<PodUid, PodStatus>> =
            changed.into_iter().map(|number| (number, BTreeMap::new())).collect();
        for (uid, status) in &self.pods {
            if let Some(part) = parts.get_mut(&part_of(uid)) {
                part.insert(uid.clone(), status.clone());
            }
        }
        parts.into_iter().map(|(number, pods)| EndedPart { number, pods }).collect()
    }
}

impl EndedPart {
    /// The form that is saved, at most [`PART_BYTES_MAX`]. Where that isn't enough the messages of containers are cut, then
    /// containers left out, then the pods that ended first.
    pub fn encode(self) -> Vec<u8> {
        self.encode_within(PART_BYTES_MAX)
    }

    fn encode_within(self, bytes_max: usize) -> Vec<u8> {
        let mut pods = self.pods;
        for shorten in [cut_messages, leave_containers_out] {
            let bytes = to_bytes(&pods);
            if bytes.len() <= bytes_max {
                return bytes;
            }
            pods.values_mut().for_each(shorten);
        }
        let mut newest: Vec<(PodUid, PodStatus)> = pods.into_iter().collect();
        newest.sort_by_key(|(_, status)| std::cmp::Reverse(ended_at(status)));
        loop {
            let bytes = to_bytes(&newest.iter().cloned().collect());
            if bytes.len() <= bytes_max || newest.is_empty() {
                return bytes;
            }
            newest.truncate(newest.len() / 2);
        }
    }
}

/// Which part a pod is in.
fn part_of(uid: &PodUid) -> u8 {
    let part = fnv1a(uid.as_str()) % u32::from(PARTS);
    u8::try_from(part).expect("less than the number of parts, which is a byte")
}

fn to_bytes(pods: &BTreeMap<PodUid, PodStatus>) -> Vec<u8> {
    serde_json::to_vec(pods).expect("a status has only text keys, so it always becomes JSON")
}

fn containers(status: &mut PodStatus) -> impl Iterator<Item = &mut ContainerStatus> {
    let PodStatus { init_container_statuses, container_statuses, ephemeral_container_statuses, .. } = status;
    let all = [init_container_statuses, container_statuses, ephemeral_container_statuses];
    all.into_iter().flatten().flatten()
}

fn cut_messages(status: &mut PodStatus) {
    for container in containers(status) {
        for state in [&mut container.state, &mut container.last_state].into_iter().flatten() {
            if let Some(message) = state.terminated.as_mut().and_then(|ended| ended.message.as_mut()) {
                let end = message.floor_char_boundary(CUT_MESSAGE_BYTES_MAX);
                message.truncate(end);
            }
        }
    }
}

fn leave_containers_out(status: &mut PodStatus) {
    status.init_container_statuses = None;
    status.container_statuses = None;
    status.ephemeral_container_statuses = None;
}

/// When the pod's conditions turned last, which an end turns.
fn ended_at(status: &PodStatus) -> Option<Timestamp> {
    let conditions = status.conditions.iter().flatten();
    conditions.filter_map(|condition| condition.last_transition_time.as_ref()).map(|time| time.0).max()
}

//! What a restarted agent has to know of one pod, next to what its folder and the runtime tell: that it was admitted, what the probes of
//! a static one had found, and how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PodUid;
use super::edit::AcceptedContainers;
use crate::container::hash::digest_json;
use crate::status::{EditKind, StartedContainers, is_ended_by_node};
use crate::text::truncated;

#[cfg(test)]
mod tests;

/// The form that this release writes and reads.
const VERSION: u32 = 1;
/// Bytes of a checkpoint at most.
pub const CHECKPOINT_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a message that is cut.
const CUT_MESSAGE_BYTES_MAX: usize = 256;
/// Resources that a running pod can ask more or less of (KEP-1287).
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

/// What was saved can't be used.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// It isn't what this program writes.
    #[error("failed to read the checkpoint")]
    Malformed(#[from] serde_json::Error),
    /// Another release wrote it, in a form that this one doesn't know.
    #[error("unsupported checkpoint version {found}, expected {VERSION}")]
    Version {
        /// What it says it is.
        found: u32,
    },
}

/// One pod's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodCheckpoint {
    /// The hash of the spec that was admitted, which earlier builds read, too.
    admitted: Option<String>,
    /// The same without what people may edit of any running pod; none if an earlier build saved it.
    judged: Option<String>,
    /// What that has of images and ephemeral containers; none if an earlier build saved it.
    accepted: Option<AcceptedContainers>,
    /// What probes had found, where no source knows it.
    started: StartedContainers,
    /// The last status of the pod, if it has ended for good.
    ended: Option<PodStatus>,
    /// How many seconds its containers have to end, if it was evicted.
    grace_seconds: Option<i64>,
    /// What is to be reported of its end by the node, until that is known to be done.
    unreported: Option<EndReport>,
}

/// What the event has that the node ends a pod, next to the words of the pod's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndReport {
    /// When that was decided.
    pub at: Timestamp,
    /// Annotations of the event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admitted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<AcceptedContainers>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    started: StartedContainers,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<PodStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unreported: Option<EndReport>,
}

impl PodCheckpoint {
    /// The pod was admitted as it is, and hasn't ended.
    pub fn admit(&mut self, pod: &Pod) {
        *self = Self::default();
        self.revise(pod);
    }

    /// An admitted pod has another spec now, and its verdict stands.
    pub fn revise(&mut self, pod: &Pod) {
        self.admitted = Some(admitted_hash(pod));
        self.judged = Some(judged_hash(pod));
        self.accepted = Some(AcceptedContainers::of(pod));
    }

    /// Whether all of an admitted pod is known that this release saves; an earlier one saved less.
    pub fn is_whole(&self) -> bool {
        self.judged.is_some() && self.accepted.is_some()
    }

    /// Images and ephemeral containers that were admitted; none if that isn't known.
    pub fn accepted(&self) -> Option<&AcceptedContainers> {
        self.accepted.as_ref()
    }

    /// What probes have found.
    pub fn set_started(&mut self, started: StartedContainers) {
        self.started = started;
    }

    /// Returns what probes had found when that was saved.
    pub fn started(&self) -> &StartedContainers {
        &self.started
    }

    /// The pod has ended for good, with this status. If it ended by itself before the node came to end it, that isn't reported.
    pub fn end(&mut self, status: &PodStatus) {
        self.ended = Some(status.clone());
        self.unreported = self.unreported.take().filter(|_| is_ended_by_node(status));
    }

    /// The node ends the pod, with this status; its containers have so many seconds to end, or else the pod's own grace. What is to
    /// be reported of it is kept until [`PodCheckpoint::reported`].
    pub fn end_by_node(&mut self, status: &PodStatus, grace_seconds: Option<i64>, report: EndReport) {
        self.end(status);
        self.grace_seconds = grace_seconds.or(self.grace_seconds);
        self.unreported = Some(report);
    }

    /// Returns what is to be reported of the pod's end by the node.
    pub fn unreported(&self) -> Option<&EndReport> {
        self.unreported.as_ref()
    }

    /// Forgets the unreported end if it is `report`.
    pub fn reported(&mut self, report: &EndReport) {
        self.unreported = self.unreported.take().filter(|unreported| unreported != report);
    }

    /// How many seconds the containers of an evicted pod have to end.
    pub fn grace_seconds(&self) -> Option<i64> {
        self.grace_seconds
    }

    /// The last status of a pod that has ended.
    pub fn ended(&self) -> Option<&PodStatus> {
        self.ended.as_ref()
    }

    /// Has the pod judged again: what was admitted counts no more.
    pub fn forget_admission(&mut self) {
        (self.admitted, self.judged, self.accepted) = (None, None, None);
    }

    /// Whether the verdict on this pod stands: it was admitted with this very spec, aside from what a running pod may have changed unasked
    /// and resizable resources, and it has a sandbox, without which nothing of it runs and judging it again harms no one.
    pub fn is_remembered(&self, pod: &Pod, has_sandbox: bool) -> bool {
        let is = |saved: &Option<String>, hash: fn(&Pod) -> String| {
            saved.as_ref().is_some_and(|saved| *saved == hash(pod))
        };
        has_sandbox && (is(&self.judged, judged_hash) || is(&self.admitted, admitted_hash))
    }

    /// Whether the verdict on this pod would stand but for edits of images and ephemeral containers, which admission is asked
    /// about apart.
    pub fn is_edited(&self, pod: &Arc<Pod>, has_sandbox: bool) -> bool {
        let Some(accepted) = self.accepted.as_ref().filter(|_| has_sandbox) else { return false };
        let edited: Vec<EditKind> =
            EditKind::ALL.into_iter().filter(|kind| accepted.is_edited(*kind, pod)).collect();
        !edited.is_empty() && self.is_remembered(&accepted.without_edits(pod, edited), has_sandbox)
    }

    /// The form that is saved, at most [`CHECKPOINT_BYTES_MAX`]. Where that isn't enough the messages of containers are cut, then
    /// containers left out, and the images at last.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_within(CHECKPOINT_BYTES_MAX)
    }

    fn encode_within(&self, bytes_max: usize) -> Vec<u8> {
        let Self { admitted, judged, accepted, started, ended, grace_seconds, unreported } = self.clone();
        let version = VERSION;
        let mut saved =
            Saved { version, admitted, judged, accepted, started, ended, grace_seconds, unreported };
        let shorten: [fn(&mut Saved); 4] = [
            |saved| saved.ended.iter_mut().for_each(cut_messages),
            |saved| saved.ended.iter_mut().for_each(leave_containers_out),
            |saved| saved.started.clear(),
            |saved| saved.accepted = None,
        ];
        for shorten in shorten {
            let bytes = to_bytes(&saved);
            if bytes.len() <= bytes_max {
                return bytes;
            }
            shorten(&mut saved);
        }
        to_bytes(&saved)
    }

    /// Reads what `encode` wrote.
    ///
    /// # Errors
    /// When it is something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let Saved { version, admitted, judged, accepted, started, ended, grace_seconds, unreported } =
            serde_json::from_slice(bytes)?;
        if version != VERSION {
            return Err(CheckpointError::Version { found: version });
        }
        Ok(Self { admitted, judged, accepted, started, ended, grace_seconds, unreported })
    }
}

/// What earlier builds saved of all pods together: whom the agent admitted, and how pods ended.
#[derive(Debug, Default)]
pub struct OlderCheckpoints {
    pods: BTreeMap<PodUid, PodCheckpoint>,
}

impl OlderCheckpoints {
    /// Takes the checkpoint of admitted pods over.
    ///
    /// # Errors
    /// When it isn't one.
    pub fn add_admitted(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        #[derive(Deserialize)]
        struct PodCheckpoints {
            version: u32,
            admitted: BTreeMap<PodUid, String>,
        }
        let PodCheckpoints { version, admitted } = serde_json::from_slice(bytes)?;
        if version != VERSION {
            return Err(CheckpointError::Version { found: version });
        }
        for (uid, hash) in admitted {
            self.pods.entry(uid).or_default().admitted = Some(hash);
        }
        Ok(())
    }

    /// Takes a checkpoint of ended pods over.
    ///
    /// # Errors
    /// When it isn't one.
    pub fn add_ended(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let ended: BTreeMap<PodUid, PodStatus> = serde_json::from_slice(bytes)?;
        for (uid, status) in ended {
            self.pods.entry(uid).or_default().ended = Some(status);
        }
        Ok(())
    }

    /// Each pod's own.
    pub fn into_pods(self) -> BTreeMap<PodUid, PodCheckpoint> {
        self.pods
    }
}

fn to_bytes(saved: &Saved) -> Vec<u8> {
    serde_json::to_vec(saved).expect("a status has only text keys, so it always becomes JSON")
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
                *message = truncated(std::mem::take(message), CUT_MESSAGE_BYTES_MAX);
            }
        }
    }
}

fn leave_containers_out(status: &mut PodStatus) {
    status.init_container_statuses = None;
    status.container_statuses = None;
    status.ephemeral_container_statuses = None;
}

/// Hash of what admission judges: the spec without what changes in a running pod unasked, whether an agent sees it or not. API servers let
/// people change that, and images and ephemeral containers, which are judged on their own.
fn judged_hash(pod: &Pod) -> String {
    let mut spec = judged_spec(pod);
    spec.tolerations = None;
    spec.active_deadline_seconds = None;
    spec.termination_grace_period_seconds = None;
    digest_json(&spec)
}

/// The same of the spec with all of that, as earlier builds have it.
fn admitted_hash(pod: &Pod) -> String {
    digest_json(&judged_spec(pod))
}

/// The spec but for CPU and memory of its containers, which a resize may change and then has judged on its own.
fn judged_spec(pod: &Pod) -> PodSpec {
    let mut spec = pod.spec.clone().unwrap_or_default();
    for resources in resizable_of(&mut spec).flatten() {
        for amounts in [&mut resources.requests, &mut resources.limits].into_iter().flatten() {
            amounts.retain(|name, _| !RESIZABLE.contains(&name.as_str()));
        }
    }
    spec
}

fn resizable_of(spec: &mut PodSpec) -> impl Iterator<Item = Option<&mut ResourceRequirements>> {
    let init = spec.init_containers.iter_mut().flatten();
    let containers = spec.containers.iter_mut().chain(init).map(|container| container.resources.as_mut());
    containers.chain([spec.resources.as_mut()])
}

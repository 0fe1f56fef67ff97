//! Static pods: those that no API server knows, brought by a source on the node.
//!
//! Rules: upstream's `config/common.go` (names, UID, annotations), `types/pod_update.go` (static, mirror, critical) and
//! `pod_workers.go` (one running static pod for each full name).

use std::collections::{BTreeMap, HashMap, VecDeque};

use k8s_openapi::api::core::v1::{Container, Pod, PodStatus, Toleration};
use sha2::{Digest, Sha256};

use super::{PodFullName, PodUid, SourceName};

pub mod inherit;
#[cfg(test)]
mod tests;
mod uid;

/// Annotation: the static pod's UID as its source computed it. A mirror pod repeats it in [`CONFIG_MIRROR`].
pub const CONFIG_HASH: &str = "kubernetes.io/config.hash";
/// Annotation: the source's name; `api` for pods of the API server.
pub const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
/// Annotation: when this agent first saw the pod, RFC 3339.
pub const CONFIG_SEEN: &str = "kubernetes.io/config.seen";
/// Annotation: marks a mirror pod.
pub const CONFIG_MIRROR: &str = "kubernetes.io/config.mirror";

/// Returns when this agent first saw the pod, as its annotation [`CONFIG_SEEN`] has it.
pub fn first_seen(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(CONFIG_SEEN).map(String::as_str)
}

/// Writes into the pod when this agent first saw it.
pub fn set_first_seen(pod: &mut Pod, time: String) {
    pod.metadata.annotations.get_or_insert_default().insert(CONFIG_SEEN.to_owned(), time);
}

/// Pods of this priority or more are critical (`system-cluster-critical` and above).
pub const CRITICAL_PRIORITY_MIN: i32 = 2_000_000_000;

/// Where a manifest was found.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The source's name, which goes into the annotation.
    pub source: &'a SourceName,
    /// The file, URL or the like, which goes into the UID: two files with one content are two pods.
    pub place: &'a str,
    pub node_name: &'a str,
}

impl<'a> Origin<'a> {
    /// Where a kubelet would have found the pod; none for sources that it hasn't.
    fn location_of_kubelet(&self, node_name: &'a str) -> Option<uid::ManifestLocation<'a>> {
        if *self.source == SourceName::file() {
            return Some(uid::ManifestLocation::File { path: self.place, node_name });
        }
        (*self.source == SourceName::http()).then_some(uid::ManifestLocation::Url(self.place))
    }
}

/// Turns a pod as someone wrote it into a static pod of this node: UID from the content unless it has one, node name
/// appended to its own, namespace `default` unless it has one, bound to the node, tolerating what would evict it.
/// What only an API server can say (status, resource version, …) is dropped.
///
/// The UID of a pod from a file or URL is the one that a kubelet of 1.36 gives it. A plugin's is hashed before defaults are filled in:
/// a release with other defaults restarts none of its pods.
pub fn adopt(mut pod: Pod, origin: Origin<'_>) -> Pod {
    let node_name = origin.node_name.to_lowercase();
    let written_uid = pod.metadata.uid.take().filter(|uid| !uid.is_empty());
    let kubelet_uid = match (&written_uid, origin.location_of_kubelet(&node_name)) {
        (None, Some(place)) => Some(uid::kubelet_uid(&pod, place)),
        (Some(_), _) | (None, None) => None,
    };
    pod.status = None;
    pod.metadata.creation_timestamp = None;
    pod.metadata.generation = None;
    pod.metadata.managed_fields = None;
    pod.metadata.owner_references = None;
    pod.metadata.resource_version = None;
    pod.metadata.self_link = None;
    let uid = written_uid.or(kubelet_uid).unwrap_or_else(|| content_uid(&pod, origin.place, &node_name));
    if let Some(name) = pod.metadata.name.as_mut() {
        name.push('-');
        name.push_str(&node_name);
    }
    pod.metadata.namespace.get_or_insert_default();
    if pod.metadata.namespace.as_deref() == Some("") {
        pod.metadata.namespace = Some("default".to_owned());
    }
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(CONFIG_HASH.to_owned(), uid.clone());
    annotations.insert(CONFIG_SOURCE.to_owned(), origin.source.as_str().to_owned());
    annotations.remove(CONFIG_MIRROR);
    annotations.remove(CONFIG_SEEN);
    pod.metadata.uid = Some(uid);
    let spec = pod.spec.get_or_insert_default();
    spec.node_name = Some(origin.node_name.to_owned());
    tolerate_eviction(spec.tolerations.get_or_insert_default());
    pod.status = Some(PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() });
    pod
}

/// A taint must not end a static pod: nothing could bring it back.
fn tolerate_eviction(tolerations: &mut Vec<Toleration>) {
    let everything = Toleration {
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        ..Toleration::default()
    };
    if !tolerations.contains(&everything) {
        tolerations.push(everything);
    }
}

/// The UID of a plugin's pod: 128 bits of a hash over node, place and content.
fn content_uid(pod: &Pod, place: &str, node_name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("host:{node_name}\nplace:{place}\n"));
    hash.update(serde_json::to_vec(pod).expect("a pod has only string keys, so it always becomes JSON"));
    hex::encode(&hash.finalize()[..16])
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// The source that brought the pod, by its annotation.
pub fn source_of(pod: &Pod) -> Option<&str> {
    annotation(pod, CONFIG_SOURCE)
}

/// Brought by a source other than the API server.
pub fn is_static(pod: &Pod) -> bool {
    source_of(pod).is_some_and(|source| source != "api")
}

/// The API server's image of a static pod, which never runs itself.
pub fn is_mirror(pod: &Pod) -> bool {
    annotation(pod, CONFIG_MIRROR).is_some()
}

/// The node needs it: a static pod, a mirror pod, or one of system priority.
pub fn is_critical(pod: &Pod) -> bool {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority);
    is_static(pod) || is_mirror(pod) || priority.is_some_and(|priority| priority >= CRITICAL_PRIORITY_MIN)
}

/// Whether a pod that comes back with the UID of one that has ended goes on with what is left of that: its dead containers
/// count as restarted, as upstream has it for a manifest that is removed and written again. One whose containers may be over
/// for good begins from the beginning instead, or it would never run again.
pub fn takes_remains_over(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let always = |policy: &Option<String>| policy.as_deref().is_none_or(|policy| policy == "Always");
    let has_own = |container: &Container| {
        container.restart_policy.is_some() || container.restart_policy_rules.is_some()
    };
    always(&spec.restart_policy) && !spec.containers.iter().any(has_own)
}

/// Lets one static pod run under each full name, in the order in which they came.
///
/// An edited manifest is a pod with another UID under the same name: it waits until the old one has ended.
#[derive(Clone, Debug, Default)]
pub struct StaticPodQueue {
    started: HashMap<PodFullName, PodUid>,
    waiting: BTreeMap<PodFullName, VecDeque<PodUid>>,
}

impl StaticPodQueue {
    /// Lines the pod up. One that waits or has started keeps its place.
    pub fn enqueue(&mut self, name: &PodFullName, uid: &PodUid) {
        if self.started.get(name) == Some(uid) {
            return;
        }
        let line = self.waiting.entry(name.clone()).or_default();
        if !line.contains(uid) {
            line.push_back(uid.clone());
        }
    }

    /// Whether the pod may start now; if so the name is its own until [`StaticPodQueue::forget`]. A pod that was never
    /// lined up goes to the end of the line.
    pub fn allow_start(&mut self, name: &PodFullName, uid: &PodUid) -> bool {
        self.enqueue(name, uid);
        if let Some(started) = self.started.get(name) {
            return started == uid;
        }
        let Some(line) = self.waiting.get_mut(name) else { return false };
        if line.front() != Some(uid) {
            return false;
        }
        line.pop_front();
        if line.is_empty() {
            self.waiting.remove(name);
        }
        self.started.insert(name.clone(), uid.clone());
        true
    }

    /// The pod has ended, or is no longer desired though it never started. Returns which may start now, if any
    /// waits and the name is free.
    pub fn forget(&mut self, name: &PodFullName, uid: &PodUid) -> Option<PodUid> {
        if self.started.get(name) == Some(uid) {
            self.started.remove(name);
        }
        if let Some(line) = self.waiting.get_mut(name) {
            line.retain(|waiting| waiting != uid);
            if line.is_empty() {
                self.waiting.remove(name);
            }
        }
        if self.started.contains_key(name) {
            return None;
        }
        self.waiting.get(name)?.front().cloned()
    }

    /// Who runs under the name.
    pub fn started(&self, name: &PodFullName) -> Option<&PodUid> {
        self.started.get(name)
    }
}

//! Mirror pods: what the API server shows of static pods. Which are made, and which go (upstream: `tryReconcileMirrorPods`,
//! `deleteOrphanedMirrorPods`, `mirror_client.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::PodFullName;
use super::references;
use super::static_pod::{CONFIG_HASH, CONFIG_MIRROR};

#[cfg(test)]
mod tests;

/// A static pod of this node.
#[derive(Clone, Debug)]
pub struct StaticPod {
    /// As its source has it.
    pub pod: Arc<Pod>,
    /// Whether the agent has made a status of it: before, it only waits, maybe for an older pod of its name to end.
    pub has_status: bool,
    /// Whether containers of it may run.
    pub may_run: bool,
    /// Whether it is to end, or has ended.
    pub is_ending: bool,
}

/// What is done about one full name: a mirror goes, or one is made, or both in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorStep {
    /// Namespace and name of mirror and static pod.
    pub full_name: PodFullName,
    /// UID of the mirror that goes, at once.
    pub delete: Option<String>,
    /// The static pod that is shown from then on.
    pub create: Option<Arc<Pod>>,
}

/// Whether the API server's object is the mirror of this very static pod: of its name, and made from its manifest as it is now.
/// Whatever else was edited in it stays.
pub fn is_mirror_of(mirror: &Pod, pod: &Pod) -> bool {
    let annotation = |pod: &Pod, name| pod.metadata.annotations.as_ref()?.get(name).cloned();
    let hash = annotation(pod, CONFIG_HASH);
    hash.is_some()
        && annotation(mirror, CONFIG_MIRROR) == hash
        && PodFullName::of(mirror) == PodFullName::of(pod)
}

/// Returns what is to be done so that every static pod has its mirror and no mirror is left over. `all_seen` says that all sources
/// were: before, a mirror without a static pod is left alone. `node` is the API's object of this node; while there is none, or
/// it is being deleted, no mirror is made.
pub fn plan(
    statics: &[StaticPod],
    mirrors: &BTreeMap<PodFullName, Arc<Pod>>,
    node: Option<&Node>,
    all_seen: bool,
) -> Vec<MirrorStep> {
    let mut by_name: BTreeMap<PodFullName, Vec<&StaticPod>> = BTreeMap::new();
    for pod in statics {
        by_name.entry(PodFullName::of(&pod.pod)).or_default().push(pod);
    }
    let may_create = node.is_some_and(|node| node.metadata.deletion_timestamp.is_none());
    let names: BTreeSet<&PodFullName> = by_name.keys().chain(mirrors.keys()).collect();
    let steps = names.into_iter().filter_map(|full_name| {
        let mirror = mirrors.get(full_name);
        let of_name = by_name.get(full_name).map_or(&[][..], Vec::as_slice);
        let (delete, create) = match fate(of_name, mirror, all_seen) {
            MirrorDecision::Stays => (None, None),
            MirrorDecision::Goes => (mirror, None),
            MirrorDecision::MadeOf(pod) => (mirror, Some(pod).filter(|pod| may_create && is_free(pod))),
        };
        let delete = delete.and_then(|mirror| mirror.metadata.uid.clone());
        let is_needed = delete.is_some() || create.is_some();
        is_needed.then(|| MirrorStep { full_name: full_name.clone(), delete, create: create.cloned() })
    });
    steps.collect()
}

enum MirrorDecision<'a> {
    /// All is as it should be, or nothing may be done yet.
    Stays,
    /// It is no one's.
    Goes,
    /// There is none of this static pod, or another one.
    MadeOf(&'a Arc<Pod>),
}

fn fate<'a>(of_name: &[&'a StaticPod], mirror: Option<&Arc<Pod>>, all_seen: bool) -> MirrorDecision<'a> {
    if of_name.is_empty() {
        return if all_seen { MirrorDecision::Goes } else { MirrorDecision::Stays };
    }
    let is_of = |pod: &StaticPod| mirror.is_some_and(|mirror| is_mirror_of(mirror, &pod.pod));
    // The mirror of a pod that still ends shows its end; the next one's comes after.
    if of_name.iter().any(|pod| pod.is_ending && pod.may_run && is_of(pod)) {
        return MirrorDecision::Stays;
    }
    let mut live = of_name.iter().filter(|pod| pod.has_status && !pod.is_ending);
    let shown = live.clone().find(|pod| is_of(pod)).or_else(|| live.next());
    let is_deleted = mirror.is_some_and(|mirror| mirror.metadata.deletion_timestamp.is_some());
    match shown {
        // Pods that have ended keep their mirrors until their sources drop them.
        None => MirrorDecision::Stays,
        Some(pod) if is_of(pod) && !is_deleted => MirrorDecision::Stays,
        Some(pod) => MirrorDecision::MadeOf(&pod.pod),
    }
}

/// A pod that draws objects from the API server would run with a node's rights to them: its mirror is refused there, too.
fn is_free(pod: &Pod) -> bool {
    references::of_pod(pod) == references::References::default()
}

/// The mirror to send to the API server: the static pod, marked with its hash and owned by the node. UID and status are the
/// server's to give. None without a hash or a node's UID.
pub fn mirror_of(pod: &Pod, node: &Node) -> Option<Pod> {
    let hash = pod.metadata.annotations.as_ref()?.get(CONFIG_HASH)?.clone();
    let (name, uid) = (node.metadata.name.clone()?, node.metadata.uid.clone()?);
    let mut mirror = Pod { metadata: pod.metadata.clone(), spec: pod.spec.clone(), status: None };
    mirror.metadata.uid = None;
    mirror.metadata.resource_version = None;
    mirror.metadata.deletion_timestamp = None;
    mirror.metadata.deletion_grace_period_seconds = None;
    mirror.metadata.annotations.get_or_insert_default().insert(CONFIG_MIRROR.to_owned(), hash);
    mirror.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name,
        uid,
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    Some(mirror)
}

//! The pods that the sources want on this node, by UID and by full name (upstream's pod manager).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::pod::static_pod::is_mirror;
use crate::pod::{PodFullName, PodUid};

#[cfg(test)]
mod tests;

/// An index of desired pods. Mirror pods, which only show a static pod to the API server, are kept apart: they never
/// run, and are found through the pod that they mirror.
///
/// Several pods may have one full name: a static pod that was edited is a new pod while the old one still ends.
#[derive(Clone, Debug, Default)]
pub struct PodStore {
    pods: HashMap<PodUid, Arc<Pod>>,
    /// UIDs by name, the latest last.
    names: BTreeMap<PodFullName, Vec<PodUid>>,
    mirrors: BTreeMap<PodFullName, Arc<Pod>>,
}

impl PodStore {
    /// Adds the pod, or puts it in the place of the one with its UID.
    pub fn upsert(&mut self, pod: Arc<Pod>) {
        let name = PodFullName::of(&pod);
        if is_mirror(&pod) {
            self.mirrors.insert(name, pod);
            return;
        }
        let uid = PodUid::of(&pod);
        if let Some(old) = self.pods.insert(uid.clone(), pod) {
            self.forget_name(&PodFullName::of(&old), &uid);
        }
        self.names.entry(name).or_default().push(uid);
    }

    /// Forgets the pod (or the mirror pod, if it is one).
    pub fn remove(&mut self, pod: &Pod) {
        let name = PodFullName::of(pod);
        let uid = PodUid::of(pod);
        if is_mirror(pod) {
            if self.mirrors.get(&name).is_some_and(|known| PodUid::of(known) == uid) {
                self.mirrors.remove(&name);
            }
        } else if let Some(old) = self.pods.remove(&uid) {
            self.forget_name(&PodFullName::of(&old), &uid);
        }
    }

    fn forget_name(&mut self, name: &PodFullName, uid: &PodUid) {
        if let Some(uids) = self.names.get_mut(name) {
            uids.retain(|known| known != uid);
            if uids.is_empty() {
                self.names.remove(name);
            }
        }
    }

    /// The pod with this UID, never a mirror pod.
    pub fn by_uid(&self, uid: &PodUid) -> Option<&Arc<Pod>> {
        self.pods.get(uid)
    }

    /// The pod that last came under this name, never a mirror pod.
    pub fn by_full_name(&self, name: &PodFullName) -> Option<&Arc<Pod>> {
        self.pods.get(self.names.get(name)?.last()?)
    }

    /// The mirror of the static pod of this name, if the API server has one.
    pub fn mirror_of(&self, name: &PodFullName) -> Option<&Arc<Pod>> {
        self.mirrors.get(name)
    }

    /// The UID that status is kept under: a mirror pod's is that of the static pod of its name.
    pub fn translate_uid(&self, pod: &Pod) -> PodUid {
        let running = is_mirror(pod).then(|| self.by_full_name(&PodFullName::of(pod))).flatten();
        PodUid::of(running.map_or(pod, |running| running))
    }

    /// All pods without mirrors, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.names.values().flatten().filter_map(|uid| self.pods.get(uid))
    }

    /// How many pods there are without mirrors.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}

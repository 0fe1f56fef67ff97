//! Limits of local storage of pods that are never evicted: static ones, and others that the node needs. Nothing enforces them then, as
//! with a kubelet, but here an event says so.

use k8s_openapi::api::core::v1::{Container, Pod, Volume};

use super::SourceName;
use super::resources::EPHEMERAL_STORAGE;
use super::static_pod::{is_critical, source_of};
use crate::admission::preemption::is_own;
use crate::container::plan::{app_containers, init_containers};

#[cfg(test)]
mod tests;

/// Reason of the event.
pub const REASON: &str = "LimitNotEnforced";

/// The event of a pod that is never evicted and has such limits: sizes of `emptyDir` volumes on disk, and ephemeral storage of
/// containers.
pub fn message(pod: &Pod) -> Option<String> {
    let is_own = source_of(pod).is_none_or(|source| is_own(&SourceName::from(source)));
    if !is_critical(pod) || !is_own {
        return None;
    }
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let sizes = volumes
        .filter(|volume| has_size_on_disk(volume))
        .map(|volume| format!("emptyDir.sizeLimit of volume {:?}", volume.name));
    let limited = |container: &&Container| {
        let limits = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
        limits.is_some_and(|limits| limits.contains_key(EPHEMERAL_STORAGE))
    };
    let storage = init_containers(pod)
        .iter()
        .chain(app_containers(pod))
        .filter(limited)
        .map(|container| format!("limits.{EPHEMERAL_STORAGE} of container {:?}", container.name));
    let void: Vec<String> = sizes.chain(storage).collect();
    (!void.is_empty())
        .then(|| format!("Not enforced, because critical pods are never evicted: {}", void.join(", ")))
}

/// A volume in memory is as large as it says.
fn has_size_on_disk(volume: &Volume) -> bool {
    let Some(source) = &volume.empty_dir else { return false };
    let on_disk = source.medium.as_deref().is_none_or(str::is_empty);
    // Nothing is no limit, as upstream has it.
    on_disk && source.size_limit.as_ref().is_some_and(|limit| limit.0 != "0")
}

//! What a sync does about a pod's own cgroup (`SyncPod` in `kubelet.go`), and which running containers belong in it.

use k8s_openapi::api::core::v1::Pod;

use crate::pod::resources::is_sidecar;
use crate::runtime::{CgroupParent, ContainerRunState, ObservedPod};

/// What a sync has to do before anything of the pod is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodCgroupAction {
    Nothing,
    /// It is there, but an earlier run of the agent may have been cut off before all of it was set. Nothing of the pod runs.
    Update,
    Create,
    /// All that runs of the pod is ended first: its containers are outside of every limit of the pod.
    Kill {
        /// Whether the pod goes on after that; one that is never restarted doesn't.
        then_create: bool,
    },
}

/// Returns what is to be done about a pod's cgroup. `is_ensured` says that this life of the agent has made or set it.
///
/// Upstream ends a pod whose containers run while its cgroup is missing. Containers that were made before the agent kept
/// cgroups ([`CgroupParent::Unrecorded`]) go on where they are: an upgrade ends no pod. Those that are made again get in.
pub fn pod_cgroup_action(
    pod: &Pod,
    observed: &ObservedPod,
    exists: bool,
    is_ensured: bool,
) -> PodCgroupAction {
    if exists {
        let runs = observed.containers.iter().any(|container| container.state.may_run());
        return if is_ensured || runs { PodCgroupAction::Nothing } else { PodCgroupAction::Update };
    }
    let spec = pod.spec.as_ref();
    let is_app = |name: &str| spec.is_some_and(|spec| spec.containers.iter().any(|app| app.name == name));
    let mut running = observed.containers.iter().filter(|c| c.state == ContainerRunState::Running);
    let is_outside = running
        .any(|container| is_app(&container.name) && container.cgroup_parent != CgroupParent::Unrecorded);
    if !is_outside {
        return PodCgroupAction::Create;
    }
    let never = spec.and_then(|spec| spec.restart_policy.as_deref()) == Some("Never");
    let restartable = spec.is_some_and(|spec| {
        let by_policy = |policy: &Option<String>| policy.as_deref().is_some_and(|policy| policy != "Never");
        spec.containers.iter().any(|app| by_policy(&app.restart_policy))
            || spec.init_containers.iter().flatten().any(is_sidecar)
    });
    PodCgroupAction::Kill { then_create: !never || restartable }
}

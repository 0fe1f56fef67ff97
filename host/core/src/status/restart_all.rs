//! The end of one container that restarts all of its pod (`RestartAllContainers`, KEP-5532).

use k8s_openapi::api::core::v1::{Pod, PodStatus};

use crate::container::plan::{app_containers, init_containers, restart_all_triggers};
use crate::runtime::ObservedPod;

/// Condition: all containers are being stopped and removed, to be started again.
pub(super) const CONDITION: &str = "AllContainersRestarting";
/// Reason of a container that was removed for it.
pub(super) const RESTARTING_ALL_CONTAINERS: &str = "RestartingAllContainers";

/// The action of the rules that restart all.
const ACTION: &str = "RestartAllContainers";

/// Whether any container's end could restart all.
pub(super) fn is_possible(pod: &Pod) -> bool {
    init_containers(pod).iter().chain(app_containers(pod)).any(|container| {
        let mut rules = container.restart_policy_rules.iter().flatten();
        rules.any(|rule| rule.action == ACTION)
    })
}

/// Whether a container that ended asks for all to be restarted. It is the last one to be removed for that, so this also
/// says whether the old instances are still being cleared away.
pub(super) fn is_under_way(pod: &Pod, observed: &ObservedPod) -> bool {
    is_possible(pod) && !restart_all_triggers(pod, observed).is_empty()
}

/// Whether a container that is missing was removed to be started again: that is under way, or was when the last status was
/// generated.
pub(super) fn explains_removal(pod: &Pod, observed: &ObservedPod, previous: Option<&PodStatus>) -> bool {
    let conditions = previous.and_then(|previous| previous.conditions.as_ref());
    let was = conditions.into_iter().flatten().any(|c| c.type_ == CONDITION && c.status == "True");
    is_possible(pod) && (was || is_under_way(pod, observed))
}

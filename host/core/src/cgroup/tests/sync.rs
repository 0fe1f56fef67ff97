//! What a sync does about a pod's cgroup.

use k8s_openapi::api::core::v1::Pod;

use crate::cgroup::{PodCgroupAction, pod_cgroup_action};
use crate::fixtures::{self, at, instance};
use crate::runtime::{CgroupParent, ContainerRunState, ObservedPod};

fn seen(pod: &Pod, state: ContainerRunState, parent: CgroupParent) -> ObservedPod {
    let mut container = instance(pod, "a", 0, state);
    container.cgroup_parent = parent;
    let mut observed = ObservedPod::absent("uid-1".into(), at(0));
    observed.containers.push(container);
    observed
}

#[test]
fn what_exists_is_set_once_while_nothing_runs() {
    let pod = fixtures::pod("Always", &["a"]);
    let none = ObservedPod::absent("uid-1".into(), at(0));
    let recorded = CgroupParent::Recorded("/kubepods/pod1".to_owned());
    let running = seen(&pod, ContainerRunState::Running, recorded.clone());
    let ended = seen(&pod, ContainerRunState::Exited, recorded);
    for (observed, is_ensured, expected) in [
        (&none, true, PodCgroupAction::Nothing),
        (&none, false, PodCgroupAction::Update),
        (&ended, false, PodCgroupAction::Update),
        (&running, false, PodCgroupAction::Nothing),
        (&running, true, PodCgroupAction::Nothing),
    ] {
        assert_eq!(pod_cgroup_action(&pod, observed, true, is_ensured), expected);
    }
    assert_eq!(pod_cgroup_action(&pod, &none, false, true), PodCgroupAction::Create);
    assert_eq!(pod_cgroup_action(&pod, &ended, false, false), PodCgroupAction::Create);
}

#[test]
fn a_pod_that_runs_without_its_cgroup_is_ended_unless_it_never_had_one() {
    let pod = fixtures::pod("Always", &["a"]);
    let kill = PodCgroupAction::Kill { then_create: true };
    for (parent, expected) in [
        (CgroupParent::Recorded("/kubepods/pod1".to_owned()), kill),
        (CgroupParent::Recorded(String::new()), kill),
        (CgroupParent::OfKubelet, kill),
        (CgroupParent::Unrecorded, PodCgroupAction::Create),
    ] {
        let observed = seen(&pod, ContainerRunState::Running, parent.clone());
        assert_eq!(pod_cgroup_action(&pod, &observed, false, false), expected, "{parent:?}");
    }
    let other = fixtures::pod("Always", &["b"]);
    let observed = seen(&other, ContainerRunState::Running, CgroupParent::OfKubelet);
    assert_eq!(
        pod_cgroup_action(&other, &observed, false, false),
        PodCgroupAction::Create,
        "no app of the spec"
    );
}

#[test]
fn a_pod_that_is_never_restarted_gets_no_cgroup_once_it_was_ended() {
    let mut pod = fixtures::pod("Never", &["a"]);
    let observed = seen(&pod, ContainerRunState::Running, CgroupParent::OfKubelet);
    let action = |pod: &Pod| pod_cgroup_action(pod, &observed, false, false);
    assert_eq!(action(&pod), PodCgroupAction::Kill { then_create: false });
    fixtures::first(&mut pod).restart_policy = Some("Always".to_owned());
    assert_eq!(action(&pod), PodCgroupAction::Kill { then_create: true });
}

//! Which cgroup a pod's containers are put below.

use k8s_openapi::api::core::v1::Pod;

use super::Host;
use crate::cgroup::CgroupLayout;

/// Whether the agent keeps cgroups for pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodCgroups<'a> {
    /// It does, by these names.
    Kept(&'a CgroupLayout),
    /// The operator wants none (`cgroupsPerQOS: false`): containers are where the runtime puts them.
    Off,
    /// It can't here: containers are where the runtime puts them.
    #[default]
    Unsupported,
}

/// The cgroup above those of the pod's sandbox and containers; none leaves it to the runtime.
pub(crate) fn parent(pod: &Pod, host: Host<'_>) -> Option<String> {
    match host.cgroups {
        PodCgroups::Kept(layout) => layout.pod(pod).ok().map(|name| layout.path(&name)),
        PodCgroups::Off | PodCgroups::Unsupported => None,
    }
}

/// Returns what containers remember of it, so that an agent with other settings knows which of them are outside of their pod's cgroup.
/// Nothing where the agent keeps none: these never count as outside.
pub(super) fn recorded(pod: &Pod, host: Host<'_>) -> Option<String> {
    match host.cgroups {
        PodCgroups::Kept(_) | PodCgroups::Off => Some(parent(pod, host).unwrap_or_default()),
        PodCgroups::Unsupported => None,
    }
}

#[cfg(test)]
mod tests {
    //! The pod's own, or none.

    use super::*;
    use crate::container::spec::fixtures;
    use crate::runtime::CgroupDriver;

    #[test]
    fn without_cgroups_of_pods_the_runtime_decides() {
        let pod = crate::fixtures::pod("Always", &["a"]);
        let node = fixtures::node("1");
        let host = fixtures::host(&node);
        assert_eq!((parent(&pod, host), recorded(&pod, host)), (None, None));
        let off = Host { cgroups: PodCgroups::Off, ..host };
        assert_eq!((parent(&pod, off), recorded(&pod, off)), (None, Some(String::new())));
    }

    #[test]
    fn a_pod_has_its_own_which_its_containers_remember() {
        let pod = crate::fixtures::pod("Always", &["a"]);
        let node = fixtures::node("2");
        for (driver, expected) in [
            (CgroupDriver::Cgroupfs, "/kubepods/besteffort/poduid-1"),
            (
                CgroupDriver::Systemd,
                "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_1.slice",
            ),
        ] {
            let layout = CgroupLayout::new(driver, "/");
            let host = Host { cgroups: PodCgroups::Kept(&layout), ..fixtures::host(&node) };
            assert_eq!(parent(&pod, host).as_deref(), Some(expected));
            assert_eq!(recorded(&pod, host).as_deref(), Some(expected));
        }
    }
}

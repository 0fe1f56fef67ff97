//! Which cgroup a pod's containers are put below.

use super::Host;
use crate::runtime::CgroupDriver;

/// The slice of all pods, by upstream's name.
const PODS_SLICE: &str = "/kubepods.slice";

/// The cgroup above those of all pods' containers; none leaves it to the runtime.
///
/// A runtime that has systemd make cgroups takes none without a slice; systemd makes it with the first container. It is one
/// for all classes, so that containers share the processors by their own requests, as siblings do. Upstream's slices of
/// classes hold requests only because the kubelet keeps setting their weights; and slices of pods would stay behind, for
/// systemd keeps them until somebody stops them.
pub(crate) fn parent(host: Host<'_>) -> Option<String> {
    match host.cgroup_driver()? {
        CgroupDriver::Cgroupfs => None,
        CgroupDriver::Systemd => Some(PODS_SLICE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    //! One slice, where systemd makes them.

    use std::collections::BTreeMap;

    use super::*;
    use crate::container::config::fixtures;
    use crate::node::facts::RUNTIME_CGROUP_DRIVER;

    #[test]
    fn systemd_gets_one_slice_and_other_runtimes_decide() {
        for (driver, expected) in [
            (Some("systemd"), Some("/kubepods.slice")),
            (Some("cgroupfs"), None),
            (Some("something else"), None),
            (None, None),
        ] {
            let mut node = fixtures::node("1");
            let facts = driver.map(|driver| (RUNTIME_CGROUP_DRIVER.to_owned(), driver.to_owned()));
            node.facts = facts.into_iter().collect::<BTreeMap<_, _>>();
            assert_eq!(parent(fixtures::host(&node)).as_deref(), expected, "{driver:?}");
        }
    }
}

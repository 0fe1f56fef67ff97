//! Which cgroup a pod's containers are put below.

use k8s_openapi::api::core::v1::Pod;

use super::Host;
use crate::pod::resources::{QosClass, qos};
use crate::runtime::CgroupDriver;

/// The cgroup above those of the pod's containers; none leaves it to the runtime.
///
/// A runtime that has systemd make cgroups takes none without a slice. It gets the slice of the pod's class, by upstream's
/// names; systemd makes it with the first container. A slice of the pod's own would stay behind, for systemd keeps slices
/// until somebody stops them.
pub(crate) fn parent(pod: &Pod, host: Host<'_>) -> Option<String> {
    match host.cgroup_driver()? {
        CgroupDriver::Cgroupfs => None,
        CgroupDriver::Systemd => Some(match qos(pod) {
            QosClass::Guaranteed => "/kubepods.slice".to_owned(),
            QosClass::Burstable => "/kubepods.slice/kubepods-burstable.slice".to_owned(),
            QosClass::BestEffort => "/kubepods.slice/kubepods-besteffort.slice".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    //! Slices by class, where systemd makes them.

    use std::collections::BTreeMap;

    use super::*;
    use crate::container::config::fixtures;
    use crate::node::facts::RUNTIME_CGROUP_DRIVER;

    fn parent_of(resources: &str, driver: Option<&str>) -> Option<String> {
        let text = format!("{{spec: {{containers: [{{name: app, resources: {resources}}}]}}}}");
        let pod: Pod = serde_saphyr::from_str(&text).expect("a pod");
        let mut node = fixtures::node("1");
        node.facts = driver
            .map(|driver| (RUNTIME_CGROUP_DRIVER.to_owned(), driver.to_owned()))
            .into_iter()
            .collect::<BTreeMap<_, _>>();
        parent(&pod, fixtures::host(&node))
    }

    #[test]
    fn systemd_gets_the_slice_of_the_class() {
        let full = "{limits: {cpu: 1, memory: 1Gi}}";
        for (resources, expected) in [
            ("{}", "/kubepods.slice/kubepods-besteffort.slice"),
            ("{requests: {cpu: 1}}", "/kubepods.slice/kubepods-burstable.slice"),
            ("{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}", "/kubepods.slice"),
        ] {
            assert_eq!(parent_of(resources, Some("systemd")).as_deref(), Some(expected), "{resources}");
        }
        for driver in [Some("cgroupfs"), Some("something else"), None] {
            assert_eq!(parent_of(full, driver), None, "{driver:?}");
        }
    }
}

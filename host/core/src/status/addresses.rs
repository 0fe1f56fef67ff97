//! The addresses that a pod's status shows.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{HostIP, PodIP, PodStatus};

use super::{StatusInput, some};
use crate::container::plan::sandbox::network_of;
use crate::runtime::NamespaceMode;

/// A pod on the host's network has the host's addresses. One whose sandbox is gone keeps those that it had.
pub(super) fn set(status: &mut PodStatus, input: StatusInput<'_>) {
    let StatusInput { pod, observed, previous, host_ips, .. } = input;
    let hosts = one_of_each_family(host_ips, host_ips);
    let own = match network_of(pod) {
        NamespaceMode::Node => hosts.clone(),
        NamespaceMode::Pod | NamespaceMode::Container if observed.ips.is_empty() => {
            previous.and_then(|p| p.pod_ips.as_ref()).into_iter().flatten().map(|ip| ip.ip.clone()).collect()
        }
        NamespaceMode::Pod | NamespaceMode::Container => one_of_each_family(&observed.ips, host_ips),
    };
    status.host_ip = hosts.first().cloned();
    status.host_ips = some(hosts.into_iter().map(|ip| HostIP { ip }).collect());
    status.pod_ip = own.first().cloned();
    status.pod_ips = some(own.into_iter().map(|ip| PodIP { ip }).collect());
}

/// The first address of the family that the node's primary address is of, then the first of the other (upstream:
/// `sortPodIPs`). A node without addresses counts as one of IPv4.
fn one_of_each_family(ips: &[IpAddr], host_ips: &[IpAddr]) -> Vec<String> {
    let prefers_v6 = host_ips.first().is_some_and(IpAddr::is_ipv6);
    let first = |v6: bool| ips.iter().find(move |ip| ip.is_ipv6() == v6);
    [first(prefers_v6), first(!prefers_v6)].into_iter().flatten().map(IpAddr::to_string).collect()
}

//! A pod's `/etc/hosts` (upstream: `managedHostsFileContent`, `nodeHostsFileContent` of `kubelet_pods.go`).

use std::fmt::Write;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{HostAlias, Pod};

use super::hostname::{self, HostnameError};
use crate::container::plan::sandbox::network_of;
use crate::container::spec::Host;
use crate::runtime::NamespaceMode;

#[cfg(test)]
mod tests;

/// First line of a pod's own file. Programs and test suites look for it (upstream: `managedHostsHeader`).
const OF_POD: &str = "# Kubernetes-managed hosts file.\n";
/// First line of the file of a pod on the host's network (upstream: `managedHostsHeaderWithHostNetwork`).
const OF_HOST: &str = "# Kubernetes-managed hosts file (host network).\n";
/// Names that every machine has for itself and, in IPv6, for its neighbours (RFC 4291).
const LOCAL: &str = "\
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
";
const ALIASES: &str = "\n# Entries added by HostAliases.\n";

/// The content: the pod's own name by each of its addresses, or the host's file for a pod on its network; then aliases.
///
/// # Errors
/// The pod's host name can't be determined.
pub fn content(pod: &Pod, pod_ips: &[IpAddr], host: Host<'_>) -> Result<String, HostnameError> {
    let mut text = match network_of(pod) {
        NamespaceMode::Node => format!("{OF_HOST}{}", host.etc_hosts),
        NamespaceMode::Pod | NamespaceMode::Container => {
            let name = hostname::of_pod(pod, host.cluster_domain)?;
            let names = match name.domain.as_str() {
                "" => name.hostname,
                domain => format!("{0}.{domain}\t{0}", name.hostname),
            };
            let mut text = format!("{OF_POD}{LOCAL}");
            for ip in pod_ips {
                // Writing to a string can't fail.
                let _ = writeln!(text, "{ip}\t{names}");
            }
            text
        }
    };
    let aliases = pod.spec.as_ref().and_then(|spec| spec.host_aliases.as_deref()).unwrap_or_default();
    if !aliases.is_empty() {
        text.push_str(ALIASES);
    }
    for HostAlias { ip, hostnames } in aliases {
        let _ = writeln!(text, "{ip}\t{}", hostnames.as_deref().unwrap_or_default().join("\t"));
    }
    Ok(text)
}
